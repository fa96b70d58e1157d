//! How often each call was made.

use std::fmt;
use std::ops::Sub;

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident => $path:literal,)*) => {
        /// A call of PD or TiKV.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Call { $($(#[$doc])* $name,)* }

        impl Call {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The path of its requests.
            pub fn path(self) -> &'static str {
                match self { $(Self::$name => $path,)* }
            }
        }
    };
}

calls! {
    GetMembers => "/pdpb.PD/GetMembers",
    /// Counted once per request of the stream, whatever number of timestamps it asks for.
    Tso => "/pdpb.PD/Tso",
    GetRegion => "/pdpb.PD/GetRegion",
    GetPrevRegion => "/pdpb.PD/GetPrevRegion",
    GetRegionById => "/pdpb.PD/GetRegionByID",
    ScanRegions => "/pdpb.PD/ScanRegions",
    GetStore => "/pdpb.PD/GetStore",
    GetAllStores => "/pdpb.PD/GetAllStores",
    GetGcSafePoint => "/pdpb.PD/GetGCSafePoint",
    UpdateGcSafePoint => "/pdpb.PD/UpdateGCSafePoint",
    UpdateServiceGcSafePoint => "/pdpb.PD/UpdateServiceGCSafePoint",
    Get => "/tikvpb.Tikv/KvGet",
    BatchGet => "/tikvpb.Tikv/KvBatchGet",
    Scan => "/tikvpb.Tikv/KvScan",
    Prewrite => "/tikvpb.Tikv/KvPrewrite",
    Commit => "/tikvpb.Tikv/KvCommit",
    BatchRollback => "/tikvpb.Tikv/KvBatchRollback",
    Cleanup => "/tikvpb.Tikv/KvCleanup",
    PessimisticLock => "/tikvpb.Tikv/KvPessimisticLock",
    PessimisticRollback => "/tikvpb.Tikv/KVPessimisticRollback",
    TxnHeartBeat => "/tikvpb.Tikv/KvTxnHeartBeat",
    CheckTxnStatus => "/tikvpb.Tikv/KvCheckTxnStatus",
    CheckSecondaryLocks => "/tikvpb.Tikv/KvCheckSecondaryLocks",
    ScanLock => "/tikvpb.Tikv/KvScanLock",
    ResolveLock => "/tikvpb.Tikv/KvResolveLock",
    Gc => "/tikvpb.Tikv/KvGC",
    DeleteRange => "/tikvpb.Tikv/KvDeleteRange",
    UnsafeDestroyRange => "/tikvpb.Tikv/UnsafeDestroyRange",
}

impl Call {
    pub fn of_path(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|call| call.path() == path)
    }

    /// Whether PD answers it.
    pub fn is_pd(self) -> bool {
        self.path().starts_with("/pdpb.PD/")
    }

    /// The last part of its path, as the protocol spells it.
    pub fn name(self) -> &'static str {
        self.path().rsplit('/').next().unwrap_or_default()
    }
}

/// How many requests of each call have come in, whatever became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Call::ALL.len()]);

impl Counts {
    pub fn get(&self, call: Call) -> u64 {
        self.0.get(call as usize).copied().unwrap_or_default()
    }

    /// Of all calls that TiKV answers.
    pub fn tikv(&self) -> u64 {
        Call::ALL.iter().filter(|call| !call.is_pd()).map(|&call| self.get(call)).sum()
    }

    /// Of all calls that PD answers.
    pub fn pd(&self) -> u64 {
        Call::ALL.iter().filter(|call| call.is_pd()).map(|&call| self.get(call)).sum()
    }

    pub(crate) fn add(&mut self, call: Call) {
        if let Some(count) = self.0.get_mut(call as usize) {
            *count += 1;
        }
    }
}

/// What has come in since an earlier look.
impl Sub<&Self> for Counts {
    type Output = Self;

    fn sub(mut self, earlier: &Self) -> Self {
        for (count, before) in self.0.iter_mut().zip(earlier.0) {
            *count -= before;
        }
        self
    }
}

/// `name=count` of those that are not zero.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for &call in Call::ALL.iter().filter(|&&call| self.get(call) > 0) {
            write!(f, "{separator}{}={}", call.name(), self.get(call))?;
            separator = " ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_tells_what_came_between() {
        let mut counts = Counts::default();
        counts.add(Call::Get);
        let before = counts.clone();
        counts.add(Call::Get);
        counts.add(Call::Tso);
        let between = counts - &before;
        assert_eq!((between.get(Call::Get), between.tikv(), between.pd()), (1, 1, 1));
        assert_eq!(between.to_string(), "Tso=1 KvGet=1");
    }

    #[test]
    fn every_call_is_found_by_its_path() {
        for &call in Call::ALL {
            assert_eq!(Call::of_path(call.path()), Some(call));
        }
        assert_eq!(Call::of_path("/tikvpb.Tikv/RawGet"), None);
    }
}
