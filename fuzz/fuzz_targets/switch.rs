//! Switch programs of any shape: they are refused, or they run, fit and print.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_pruning::p4::{Arch, print};
use sluicegate_pruning::switch::{Interpreter, Packet, Program, Target, fit};

fuzz_target!(|input: &[u8]| {
    let Ok((program, packets)) = postcard::take_from_bytes::<Program>(input) else { return };
    if program.validate().is_err() {
        assert!(Interpreter::new(program).is_err());
        return;
    }
    for target in [Target::tofino1(), Target::tofino2(), Target::paper()] {
        let _ = fit(&program, &target);
    }
    // Registers of 2^28 cells are valid, and take 2 GiB.
    if program.registers.iter().map(|register| u64::from(register.size)).sum::<u64>() > 1 << 16 {
        return;
    }
    let values = usize::from(program.values);
    let entries = program.verdicts.len();
    let mut interpreter = Interpreter::new(program.clone()).unwrap();
    for arch in [Arch::V1Model, Arch::Tna, Arch::T2na] {
        match print(&program, arch) {
            Ok(source) => assert!(!source.program.is_empty()),
            Err(error) => assert_ne!(arch, Arch::V1Model, "{error}"),
        }
    }
    let words: Vec<u32> =
        packets.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    for (id, values) in words.chunks_exact(values.max(1)).enumerate() {
        let values = if program.values == 0 { &[][..] } else { values };
        let packet = Packet::new(0, id as u32, values);
        let trace = interpreter.trace(&packet).unwrap();
        assert_eq!(trace.verdicts.len(), entries);
    }
});
