//! What the fuzz targets check, shared with the test that runs their corpus. Panics on a bug.
