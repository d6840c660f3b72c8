//! Chooses the programs that share a pipeline.
//!
//! Placing one query after the other, each as well as possible, lets the first take the room of the next ones. Here
//! all queries start with their smallest programs, so that as many as possible are served. Then, repeatedly, the
//! query with most to gain takes the next larger of its programs, if all still fit.

use crate::deployment::Flow;
use crate::deployment::pack::{Query, pack};
use crate::switch::{Program, Target, fit};

/// One of the programs that serve a query.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The program of this candidate.
    pub program: Program,
    /// The pruning that it loses against the best candidate of its query, in a unit that all queries share.
    pub loss: f64,
    /// The share of the pipeline that it takes, in any unit.
    pub cost: f64,
}

/// Returns for each query the number of its chosen candidate, or `None` if it is left out. The chosen programs
/// together fit `target`.
///
/// It is a heuristic, since the choice of programs that fit together is a bin packing problem. A query is left out
/// only if it does not fit beside the smallest programs of those before it.
#[must_use]
pub fn choose(queries: &[Vec<Candidate>], target: &Target) -> Vec<Option<usize>> {
    let ladders: Vec<Vec<usize>> =
        queries.iter().map(|of| ladder(of, |c| [c.cost, c.loss])).collect();
    let fits = |steps: &[Option<usize>]| {
        let programs: Vec<&Program> = (0..)
            .zip(steps)
            .filter_map(|(query, step): (usize, _)| {
                Some(&queries[query][ladders[query][(*step)?]].program)
            })
            .collect();
        fit_together(&programs, target)
    };
    let mut steps: Vec<Option<usize>> = vec![None; queries.len()];
    for (query, ladder) in ladders.iter().enumerate() {
        // The smallest may be one that this target cannot run at all.
        let mut with = steps.clone();
        steps[query] = (0..ladder.len()).find(|step| {
            with[query] = Some(*step);
            fits(&with)
        });
    }
    let mut done: Vec<bool> = steps.iter().map(Option::is_none).collect();
    let loss = |query: usize, step: Option<usize>| {
        step.map_or(0.0, |step| queries[query][ladders[query][step]].loss)
    };
    loop {
        let open = (0..queries.len()).filter(|query| !done[*query]);
        let worst = open.max_by(|a, b| loss(*a, steps[*a]).total_cmp(&loss(*b, steps[*b])));
        let Some(query) = worst else { break };
        let mut with = steps.clone();
        let larger = steps[query].map_or(0, |step| step + 1)..ladders[query].len();
        // A larger one may fit where a smaller one does not, because its shape differs.
        let next = larger.into_iter().find(|step| {
            with[query] = Some(*step);
            fits(&with)
        });
        match next {
            Some(step) => steps[query] = Some(step),
            None => done[query] = true,
        }
    }
    let number = |(query, step): (usize, Option<usize>)| step.map(|step| ladders[query][step]);
    steps.into_iter().enumerate().map(number).collect()
}

/// Returns the candidates that are worth their cost, from the smallest on: each loses less than those before. `price`
/// returns the cost and the loss of a candidate, as in [`Candidate`].
#[must_use]
pub fn ladder<T>(candidates: &[T], price: impl Fn(&T) -> [f64; 2]) -> Vec<usize> {
    let mut order: Vec<(usize, [f64; 2])> = candidates.iter().map(price).enumerate().collect();
    order.sort_by(|(_, [cost_a, loss_a]), (_, [cost_b, loss_b])| {
        cost_a.total_cmp(cost_b).then(loss_a.total_cmp(loss_b))
    });
    let mut least = f64::INFINITY;
    order.retain(|(_, [_, loss])| {
        let better = *loss < least;
        least = least.min(*loss);
        better
    });
    order.into_iter().map(|(number, _)| number).collect()
}

/// Returns true if the programs fit one pipeline, each with its own flow. The numbers of the flows do not matter.
fn fit_together(programs: &[&Program], target: &Target) -> bool {
    if let [program] = programs {
        return fit(program, target).is_ok();
    }
    let flows: Vec<[Flow; 1]> = (0..programs.len() as u16).map(|n| [Flow::from(n)]).collect();
    let queries: Vec<Query<'_>> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    pack("together", &queries).is_ok_and(|packed| fit(&packed, target).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ties;
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::group_by::{self, Extreme};

    fn group_bys() -> Vec<Candidate> {
        let of = |tables: u32| {
            let config = group_by::Config::new(4096, tables, Extreme::Max, Ties::Keep, false);
            let loss = 1.0 / f64::from(tables);
            Candidate { program: config.unwrap().program(), loss, cost: tables.into() }
        };
        (1..=10).map(of).collect()
    }

    fn distincts() -> Vec<Candidate> {
        let of = |columns: u32| {
            let config = distinct::Config::new(4096, columns, Width::Bits32, Policy::Lru);
            let loss = 1.0 / f64::from(columns);
            Candidate { program: config.unwrap().program(), loss, cost: columns.into() }
        };
        (1..=9).map(of).collect()
    }

    #[test]
    fn nobody_starves() {
        let target = Target { stateful_alus: 1, ..Target::tofino1() };
        let queries = [group_bys(), distincts()];
        let [Some(group_by), Some(distinct)] = *choose(&queries, &target) else { panic!() };
        // The first query could use all that it would take alone: placed one after the other, the second gets
        // nothing.
        let best = queries.each_ref().map(|candidates| {
            let alone = |c: &Candidate| fit_together(&[&c.program], &target);
            candidates.iter().rev().find(|c| alone(c)).unwrap()
        });
        let smallest = [&best[0].program, &queries[1][0].program];
        assert!(!fit_together(&smallest, &target), "greedy would do");
        let columns = [group_by + 1, distinct + 1];
        assert!(columns[0].abs_diff(columns[1]) <= 1 && columns[0] > 2, "{columns:?}");
        let chosen = [&queries[0][group_by].program, &queries[1][distinct].program];
        assert!(fit_together(&chosen, &target));
    }

    #[test]
    fn one_alone_gets_the_best_that_fits() {
        let target = Target::tofino1();
        let [Some(chosen)] = *choose(&[group_bys()], &target) else { panic!() };
        let candidates = group_bys();
        assert!(fit_together(&[&candidates[chosen].program], &target));
        let better = candidates.get(chosen + 1);
        assert!(better.is_none_or(|more| !fit_together(&[&more.program], &target)));
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let target = Target { stages: 5, stateful_alus: 1, ..Target::tofino1() };
        let queries = [group_bys(), distincts(), group_bys(), distincts(), group_bys()];
        let chosen = choose(&queries, &target);
        assert!(chosen[0].is_some() && chosen.contains(&None), "{chosen:?}");
        let of = |(query, number): (&Vec<Candidate>, &Option<usize>)| {
            number.map(|number| query[number].program.clone())
        };
        let placed: Vec<Program> = queries.iter().zip(&chosen).filter_map(of).collect();
        let placed: Vec<&Program> = placed.iter().collect();
        assert!(fit_together(&placed, &target));
        for (query, _) in queries.iter().zip(&chosen).filter(|(_, number)| number.is_none()) {
            let with = [&placed[..], &[&query[0].program]].concat();
            assert!(!fit_together(&with, &target));
        }
        assert!(choose(&[], &target).is_empty());
        assert_eq!(choose(&[Vec::new()], &target), [None]);
    }
}
