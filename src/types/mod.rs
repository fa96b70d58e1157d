//! What a string, a hash, a set, ... is: verbs over a key in a transaction.
