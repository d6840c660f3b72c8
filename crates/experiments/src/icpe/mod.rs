//! "Modeling Analytics for Computational Storage" (Lagrange et al., ICPE 2020).

pub mod date_dim;
pub mod fig4_5;
