//! The way of a request.
