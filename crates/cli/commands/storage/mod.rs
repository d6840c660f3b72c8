//! `sluice storage`

mod report;
mod stages;

use std::fs;
use std::path::Path;

use sluicegate_costmodel::storage::{Device, Formula, Setup, Slots, estimate};

use crate::args::{FormulaArg, StorageArgs};
use crate::failure::{Failure, Result};

pub(super) fn run(args: &StorageArgs) -> Result<()> {
    let mut device = device(&args.device)?;
    if let Some(setup) = args.setup {
        device.setup = setup.0;
    }
    let query = stages::read(&args.stages)?;
    let setup = if args.only_if_beneficial { Setup::OnlyIfBeneficial } else { Setup::Always };
    let formula = match args.formula {
        FormulaArg::Intended => Formula::Intended,
        FormulaArg::Printed => Formula::AsPrinted,
    };
    let slots = args.slots.map_or(Slots::Unlimited, Slots::Finite);
    let estimate = estimate(&query.graph, &device, setup, formula, slots);
    report::print(&query, &device, slots, &estimate, args.format)
}

/// The device of a name or in a file.
fn device(name: &str) -> Result<Device> {
    if let Some(known) = Device::by_name(name) {
        return Ok(known.clone());
    }
    let path = Path::new(name);
    if !path.is_file() {
        let names: Vec<_> = Device::all().iter().map(|it| it.name.as_str()).collect();
        return Err(Failure::new(format!("there is no device and no file `{name}`"))
            .with_hint(format!("Take one of {}, or name a TOML file.", names.join(", "))));
    }
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    Device::parse(&text).map_err(|error| {
        let keys = "name, date, source, setup_seconds, media_bytes_per_second, link_bytes_per_second \
                    and filter_bytes_per_second";
        Failure::new(format!("`{name}`, {error}")).with_hint(format!("A device has {keys}."))
    })
}
