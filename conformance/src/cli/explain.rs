//! `explain`: one requirement or one case in full.

use std::fmt::Write as _;
use std::process::ExitCode;

use wasi_cuda_conformance::catalogue::Requirement;
use wasi_cuda_conformance::fixture::{Case, Fixture};
use wasi_cuda_conformance::text::{lines, one_line};
use wasi_cuda_conformance::{Profile, Suite};

use super::{CliError, ExplainArguments, output};

pub(super) fn execute(arguments: &ExplainArguments) -> Result<ExitCode, CliError> {
    let suite = arguments.suite.load()?;
    let text = if let Some(requirement) = suite.catalogue.requirement(&arguments.id) {
        explain_requirement(&suite, requirement)
    } else if let Some((fixture, case)) = suite.cases().find(|(_, case)| case.id == arguments.id) {
        explain_case(&suite, fixture, case)
    } else {
        return Err(CliError::UnknownId(arguments.id.clone()));
    };
    output::print(&lines(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn explain_requirement(suite: &Suite, requirement: &Requirement) -> String {
    let mut text = String::new();
    describe(&mut text, requirement);
    let cases: Vec<&Case> = suite
        .cases()
        .map(|(_, case)| case)
        .filter(|case| case.requirements.contains(&requirement.id))
        .collect();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\nchecked by {} case(s):", cases.len());
    for case in cases {
        let _ = writeln!(text, "  {}", case.id);
    }
    text
}

fn explain_case(suite: &Suite, fixture: &Fixture, case: &Case) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} ({})\n  {}\n",
        case.id,
        case.level,
        one_line(&case.title)
    );
    for profile in Profile::ALL {
        if let Some(accepted) = case.expectation.under(profile) {
            let accepted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "expected on {profile}: {}", accepted.join(" or "));
        }
    }
    for id in &case.requirements {
        if let Some(requirement) = suite.catalogue.requirement(id) {
            text.push('\n');
            describe(&mut text, requirement);
        }
    }
    let _ = writeln!(
        text,
        "\n{}.wat:\n\n{}",
        fixture.path,
        fixture.text.trim_end()
    );
    text
}

fn describe(text: &mut String, requirement: &Requirement) {
    let profiles: Vec<&str> = requirement
        .profiles
        .iter()
        .map(|profile| profile.name())
        .collect();
    let _ = writeln!(
        text,
        "{} ({}, {}; {})",
        requirement.id,
        requirement.level,
        requirement.class,
        profiles.join(", ")
    );
    let _ = writeln!(
        text,
        "  {}\n  source: {}",
        one_line(&requirement.statement),
        one_line(&requirement.source)
    );
}
