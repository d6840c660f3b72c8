//! Estimates the wall times of stages for profiles without them.

use sluicegate_costmodel::storage::Stage;

/// The known part of a query's wall time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wall {
    /// The wall time of the whole query. A stage takes its share by thread time, relative to the longest chain of
    /// stages, so that this chain takes the query's wall time.
    Seconds(f64),
    /// Only the number of cores is known. A stage takes its thread time divided by the cores.
    Cores(f64),
}

impl Wall {
    /// Sets the wall time of each stage. Stages must come after those that they wait for.
    pub(crate) fn share(self, stages: &mut [Stage]) {
        match self {
            Self::Cores(cores) => {
                for stage in stages {
                    stage.wall_seconds = stage.thread_seconds / cores;
                }
            }
            Self::Seconds(all) => {
                let longest = longest(stages);
                if longest > 0.0 {
                    for stage in stages {
                        stage.wall_seconds = all * (stage.thread_seconds / longest);
                    }
                } else if let Some(last) = stages.last_mut() {
                    last.wall_seconds = all;
                }
            }
        }
    }
}

/// Returns the thread time of the longest chain of stages.
fn longest(stages: &[Stage]) -> f64 {
    let mut ends: Vec<f64> = Vec::with_capacity(stages.len());
    for stage in stages {
        let before = stage.after.iter().filter_map(|id| ends.get(usize::try_from(*id).ok()?));
        let start = before.copied().fold(0.0, f64::max);
        ends.push(start + stage.thread_seconds);
    }
    ends.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond(seconds: [f64; 4]) -> Vec<Stage> {
        let after = [&[][..], &[0], &[0], &[1, 2]];
        let stage = |(id, (seconds, after)): (usize, (f64, &[u64]))| Stage {
            id: id as u64,
            thread_seconds: seconds,
            after: after.to_vec(),
            ..Stage::default()
        };
        seconds.into_iter().zip(after).enumerate().map(stage).collect()
    }

    fn walls(wall: Wall, mut stages: Vec<Stage>) -> Vec<f64> {
        wall.share(&mut stages);
        stages.iter().map(|stage| stage.wall_seconds).collect()
    }

    #[test]
    fn the_longest_chain_takes_what_the_query_took() {
        // The chain is 0, 2, 3 with 8 thread seconds.
        let seconds = diamond([1.0, 2.0, 4.0, 3.0]);
        assert_eq!(walls(Wall::Seconds(4.0), seconds.clone()), [0.5, 1.0, 2.0, 1.5]);
        assert_eq!(walls(Wall::Cores(2.0), seconds), [0.5, 1.0, 2.0, 1.5]);
        assert_eq!(walls(Wall::Seconds(4.0), diamond([0.0; 4])), [0.0, 0.0, 0.0, 4.0]);
        // The quotient of the two numbers would be infinite.
        assert_eq!(walls(Wall::Seconds(1e18), diamond([5e-324, 0.0, 0.0, 0.0]))[0], 1e18);
    }
}
