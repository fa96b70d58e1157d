//! Reading through something else, spelt once.

/// Implements [`Read`](crate::Read) for a type, with every verb handed on. `$to!(this, r => call)` is a macro of the caller's that
/// runs `call` with what it reads from as `r`.
#[macro_export]
macro_rules! read_through {
    ([$($life:lifetime)?] $type:ty, $to:ident) => {
        impl $(<$life>)? $crate::Read for $type {
            #[inline]
            fn get(&self, space: $crate::Space, key: &[u8], out: &mut Vec<u8>) -> $crate::Result<bool> {
                $to!(self, r => r.get(space, key, out))
            }

            #[inline]
            fn get_part(
                &self,
                space: $crate::Space,
                key: &[u8],
                at: usize,
                out: &mut [u8],
            ) -> $crate::Result<bool> {
                $to!(self, r => r.get_part(space, key, at, out))
            }

            #[inline]
            fn get_many(
                &self,
                space: $crate::Space,
                keys: &[&[u8]],
                each: &mut dyn FnMut(usize, Option<&[u8]>),
            ) -> $crate::Result<()> {
                $to!(self, r => r.get_many(space, keys, each))
            }

            #[inline]
            fn scan(
                &self,
                space: $crate::Space,
                range: $crate::Range<'_>,
                direction: $crate::Direction,
                limit: usize,
                each: &mut dyn FnMut(&[u8], &[u8]) -> std::ops::ControlFlow<()>,
            ) -> $crate::Result<()> {
                $to!(self, r => r.scan(space, range, direction, limit, each))
            }

            #[inline]
            fn scan_ranges(
                &self,
                space: $crate::Space,
                ranges: &[$crate::Range<'_>],
                limit: usize,
                each: &mut dyn FnMut(usize, &[u8], &[u8]) -> std::ops::ControlFlow<()>,
            ) -> $crate::Result<bool> {
                $to!(self, r => r.scan_ranges(space, ranges, limit, each))
            }

            #[inline]
            fn fetch(&self, rows: &[($crate::Space, &[u8])]) -> $crate::Result<()> {
                $to!(self, r => r.fetch(rows))
            }

            #[inline]
            fn nth(
                &self,
                space: $crate::Space,
                range: $crate::Range<'_>,
                rank: usize,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> $crate::Result<Option<usize>> {
                $to!(self, r => r.nth(space, range, rank, show))
            }

            #[inline]
            fn nth_at_once(
                &self,
                space: $crate::Space,
                range: $crate::Range<'_>,
                rank: usize,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> $crate::Result<$crate::Ranked> {
                $to!(self, r => r.nth_at_once(space, range, rank, show))
            }

            #[inline]
            fn pick(
                &self,
                space: $crate::Space,
                group: &[u8],
                draw: &mut dyn FnMut() -> u64,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> $crate::Result<bool> {
                $to!(self, r => r.pick(space, group, draw, show))
            }
        }
    };
}
