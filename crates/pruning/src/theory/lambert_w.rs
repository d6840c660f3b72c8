//! The Lambert W function: the inverse of x = w·e^w, needed for the best shape of the TOP N matrix.

/// Returns the principal branch W0: the w ≥ -1 with w·e^w = `x`.
///
/// Range: `x >= -1/e`; NaN below it. Accurate to a few units in the last place except within about 1e-8 of the branch
/// point, where the function itself has an infinite slope.
///
/// Method: Halley's iteration on w·e^w - x from a series (near the branch point and zero) or from logarithms; above e
/// the iteration runs on w + ln w = ln x instead, which cannot overflow.
///
/// # Example
/// W(1) is the omega constant, and W(e) = 1.
/// ```
/// use sluicegate_pruning::theory::lambert_w;
/// assert!((lambert_w(1.0) - 0.567_143_290_409_783_8).abs() < 1e-15);
/// assert!((lambert_w(std::f64::consts::E) - 1.0).abs() < 1e-15);
/// ```
pub fn lambert_w(x: f64) -> f64 {
    use std::f64::consts::E;
    if x.is_nan() || x < -1.0 / E - 1e-16 {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY {
        return x;
    }
    if x > E { by_logarithms(x.ln()) } else { by_halley(x) }
}

/// Runs Newton's method on w + ln w = `ln_x`, for `ln_x > 1`. It converges from above in a handful of steps.
fn by_logarithms(ln_x: f64) -> f64 {
    let mut w = ln_x - ln_x.ln() * (1.0 - 1.0 / ln_x);
    for _ in 0..32 {
        let step = (w + w.ln() - ln_x) * w / (1.0 + w);
        w -= step;
        if step.abs() <= 1e-16 * w {
            break;
        }
    }
    w
}

fn by_halley(x: f64) -> f64 {
    use std::f64::consts::E;
    let to_branch_point = 2.0 * (E * x + 1.0);
    if to_branch_point <= 0.0 {
        return -1.0;
    }
    let mut w = if x < -0.25 {
        let p = to_branch_point.sqrt();
        -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p * p * p
    } else {
        x.ln_1p() * (1.0 - (1.0 + x.ln_1p()).ln() / (2.0 + x.ln_1p()))
    };
    for _ in 0..32 {
        let exp = w.exp();
        let error = w * exp - x;
        let step = error / (exp * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
        if !step.is_finite() {
            break;
        }
        w -= step;
        if step.abs() <= 1e-16 * (1.0 + w.abs()) {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_w_times_exp_w() {
        let mut w = -0.999;
        while w < 600.0 {
            let x = w * f64::exp(w);
            let found = lambert_w(x);
            // Near -1 the inverse loses digits: dw = dx / ((w + 1) e^w).
            let tolerance = 1e-15 * (4.0 + w.abs() + 1.0 / (w + 1.0));
            assert!((found - w).abs() <= 4.0 * tolerance, "W({x}) = {found}, not {w}");
            w += if w < 2.0 { 0.01 } else { 0.7 };
        }
    }

    #[test]
    fn keeps_its_range() {
        assert!(lambert_w(-0.4).is_nan());
        assert_eq!(lambert_w(0.0), 0.0);
        assert!((lambert_w(-1.0 / std::f64::consts::E) + 1.0).abs() < 1e-7);
        let huge = lambert_w(f64::MAX);
        assert!((huge + huge.ln() - f64::MAX.ln()).abs() < 1e-12);
        assert!((lambert_w(1e-300) - 1e-300).abs() < 1e-314);
    }
}
