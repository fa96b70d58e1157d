//! The choice of engine as one enum.
