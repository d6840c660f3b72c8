//! From SQL text to record batches, with the work pushed to the store.
