//! The arguments that set an algorithm's parameters, generated from the catalog's description of them.

use std::fmt::Write as _;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use sluicegate_pruning::algorithm::catalog::{
    Algorithm, PARAMETERS, Parameter, Parameters, Value, Values,
};

/// An algorithm's parameters; those not given take the paper's defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ParameterArgs {
    parameters: Parameters,
}

impl ParameterArgs {
    /// Returns the parameters in the catalog's form.
    pub(crate) fn parameters(&self) -> Parameters {
        self.parameters
    }
}

/// Returns the parameters that a user may set.
fn offered() -> impl Iterator<Item = &'static Parameter> {
    PARAMETERS.iter().filter(|parameter| !matches!(parameter.values, Values::Internal))
}

fn arg(parameter: &'static Parameter) -> Arg {
    let arg = Arg::new(parameter.name)
        .long(parameter.long)
        .help(parameter.help)
        .help_heading("Parameters");
    let arg = match parameter.values {
        Values::U32 => arg.value_parser(value_parser!(u32)),
        Values::U64 => arg.value_parser(value_parser!(u64)),
        Values::Words(words) => {
            let words = words.iter().map(|(word, help)| PossibleValue::new(*word).help(*help));
            arg.value_parser(PossibleValuesParser::new(words))
        }
        Values::Flag | Values::Internal => return arg.action(ArgAction::SetTrue),
    };
    let arg = arg.value_name(parameter.value);
    let arg = match parameter.letter {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match parameter.alias {
        Some(alias) => arg.visible_alias(alias),
        None => arg,
    }
}

fn given(parameter: &Parameter, matches: &ArgMatches) -> Option<Value> {
    let name = parameter.name;
    match parameter.values {
        Values::U32 => matches.get_one::<u32>(name).map(|&number| Value::Number(number.into())),
        Values::U64 => matches.get_one::<u64>(name).copied().map(Value::Number),
        Values::Words(words) => {
            let given = matches.get_one::<String>(name)?;
            words.iter().position(|(word, _)| word == given).map(Value::Word)
        }
        Values::Flag | Values::Internal => matches.get_flag(name).then_some(Value::Set),
    }
}

impl FromArgMatches for ParameterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for parameter in offered() {
            if let Some(value) = given(parameter, matches) {
                parameter.set(&mut self.parameters, value);
            }
        }
        Ok(())
    }
}

impl Args for ParameterArgs {
    fn augment_args(command: Command) -> Command {
        command.args(offered().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the long help of `--algorithm`: the parameters of each algorithm, their ranges and the paper's defaults.
pub(super) fn of_each() -> String {
    let mut text = "The algorithm. Each with its parameters and their defaults:".to_owned();
    for algorithm in Algorithm::ALL {
        let entry = algorithm.entry();
        let _ =
            write!(text, "\n  {} ({}; a packet carries {})", entry.name, entry.sql, entry.carries);
        for takes in entry.parameters {
            let offered = offered().find(|parameter| parameter.name == takes.name);
            let Some(parameter) = offered else { continue };
            let name = match parameter.letter {
                Some(letter) => format!("-{letter}"),
                None => format!("--{}", parameter.long),
            };
            let _ = write!(text, "\n    {name:<14} {takes}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        parameters: ParameterArgs,
    }

    fn read(line: &str) -> Result<Parameters, clap::Error> {
        let words = std::iter::once("switch").chain(line.split_whitespace());
        <Line as clap::Parser>::try_parse_from(words).map(|line| line.parameters.parameters())
    }

    #[test]
    fn every_parameter_is_an_argument() {
        for parameter in offered() {
            let (text, word) = match parameter.values {
                Values::U32 | Values::U64 => ("7", " 7".to_owned()),
                Values::Words(words) => (words[1].0, format!(" {}", words[1].0)),
                Values::Flag | Values::Internal => ("", String::new()),
            };
            let mut expected = Parameters::default();
            expected.set(parameter.name, text).unwrap();
            let long = format!("--{}{word}", parameter.long);
            assert_eq!(read(&long).unwrap(), expected, "{long}");
            if let Some(letter) = parameter.letter {
                assert_eq!(read(&format!("-{letter}{word}")).unwrap(), expected);
            }
        }
        assert_eq!(read("").unwrap(), Parameters::default());
        for odd in ["-w x", "-w -1", "--ties maybe", "--columns 4294967296", "--row-value"] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn help_names_what_each_algorithm_takes() {
        let help = of_each();
        assert!(help.contains("-w             tables: 1 to 16 [8]"), "{help}");
        let counters = "-w             counters in a row of the sketch: a power of two";
        assert!(help.contains(counters), "{help}");
        assert!(!help.contains("row-value"), "{help}");
    }
}
