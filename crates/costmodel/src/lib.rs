//! Predicts the time and the dollars a plan will take, from plain numbers.
