//! `explain`: one requirement, one fixture, one case or one deviant in full.

use std::fmt::Write as _;
use std::process::ExitCode;

use wasi_cuda_conformance::catalogue::{Level, Requirement};
use wasi_cuda_conformance::deviant::{self, Deviant};
use wasi_cuda_conformance::fixture::{Case, Fixture};
use wasi_cuda_conformance::text::{lines, one_line};
use wasi_cuda_conformance::{Profile, Suite};

use super::{CliError, ExplainArguments, output};

// Writing to a String cannot fail: what `writeln!` returns is dropped below.

pub(super) fn execute(arguments: &ExplainArguments) -> Result<ExitCode, CliError> {
    let suite = arguments.suite.load()?;
    let text = if let Some(requirement) = suite.catalogue.requirement(&arguments.id) {
        explain_requirement(&suite, requirement)
    } else if let Some((fixture, case)) = suite.cases().find(|(_, case)| case.id == arguments.id) {
        explain_case(&suite, fixture, case)
    } else if let Some(deviant) = deviant::named(&arguments.id) {
        explain_deviant(&suite, deviant)
    } else if let Some(fixture) = suite
        .fixtures
        .iter()
        .find(|it| it.path == wanted(arguments))
    {
        explain_fixture(fixture)
    } else {
        return Err(CliError::UnknownId(arguments.id.clone()));
    };
    output::print(&lines(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// A fixture's path may be given as that of its file.
fn wanted(arguments: &ExplainArguments) -> &str {
    let id = &*arguments.id;
    id.strip_suffix(".wat").unwrap_or(id)
}

fn explain_fixture(fixture: &Fixture) -> String {
    let profiles: Vec<&str> = fixture.profiles.iter().map(|it| it.name()).collect();
    let mut text = format!(
        "{} ({})\n  {}\n",
        fixture.path,
        profiles.join(", "),
        one_line(&fixture.title)
    );
    let _ = writeln!(text, "\n{} case(s):", fixture.cases().count());
    for case in fixture.cases() {
        let _ = writeln!(text, "\n  {} ({})", case.id, case.level);
        if case.title != fixture.title {
            let _ = writeln!(text, "    {}", one_line(&case.title));
        }
        let _ = writeln!(text, "    checks {}", case.requirements.join(", "));
        expectations(&mut text, "    ", case);
    }
    text.push_str(&guest(fixture));
    text
}

fn explain_requirement(suite: &Suite, requirement: &Requirement) -> String {
    let mut text = String::new();
    describe(&mut text, requirement);
    let fixtures: Vec<(&Fixture, Vec<&Case>)> = suite
        .fixtures
        .iter()
        .map(|fixture| (&**fixture, claiming(fixture, requirement)))
        .filter(|(_, cases)| !cases.is_empty())
        .collect();
    let count: usize = fixtures.iter().map(|(_, cases)| cases.len()).sum();
    let _ = writeln!(
        text,
        "\nchecked by {count} case(s) in {} file(s):",
        fixtures.len()
    );
    for (fixture, cases) in &fixtures {
        let _ = writeln!(text, "\n{}: {}", fixture.path, one_line(&fixture.title));
        for case in cases {
            let _ = writeln!(text, "  {}", case.id);
            expectations(&mut text, "    ", case);
        }
    }
    text.push_str(&deviants_of(std::slice::from_ref(&requirement)));
    for (fixture, _) in &fixtures {
        text.push_str(&guest(fixture));
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
    expectations(&mut text, "expected on ", case);
    let requirements: Vec<&Requirement> = case
        .requirements
        .iter()
        .filter_map(|id| suite.catalogue.requirement(id))
        .collect();
    for requirement in &requirements {
        text.push('\n');
        describe(&mut text, requirement);
    }
    text.push_str(&deviants_of(&requirements));
    text.push_str(&guest(fixture));
    text
}

fn explain_deviant(suite: &Suite, deviant: &Deviant) -> String {
    let mut text = format!(
        "{} (profile {})\n  a host that {}\n  caught by a case that ends as: {}\n  see it: cargo conformance run --runtime deviant:{}\n",
        deviant.name,
        deviant.profile,
        deviant.wrong,
        deviant.shows_as.name(),
        deviant.name
    );
    let broken = deviant
        .breaks
        .iter()
        .filter_map(|id| suite.catalogue.requirement(id));
    for requirement in broken {
        text.push('\n');
        describe(&mut text, requirement);
        let _ = writeln!(
            text,
            "  cases on {}: {}",
            deviant.profile,
            suite.cases_of(requirement, deviant.profile).count()
        );
    }
    text
}

fn claiming<'a>(fixture: &'a Fixture, requirement: &Requirement) -> Vec<&'a Case> {
    fixture
        .cases()
        .filter(|case| case.requirements.contains(&requirement.id))
        .collect()
}

/// The deviants that the cases of these requirements catch, or why there are none.
fn deviants_of(requirements: &[&Requirement]) -> String {
    let catches: Vec<&Deviant> = deviant::all()
        .filter(|deviant| {
            let broken = |requirement: &&Requirement| deviant.breaks.contains(&&*requirement.id);
            requirements.iter().any(broken)
        })
        .collect();
    let mut text = String::new();
    if !catches.is_empty() {
        let _ = writeln!(text, "\ncatches {} deviant(s):", catches.len());
    }
    for deviant in catches {
        let _ = writeln!(text, "  {}: a host that {}", deviant.name, deviant.wrong);
    }
    for requirement in requirements {
        if let Some(reason) = &requirement.no_deviant {
            let _ = writeln!(
                text,
                "\nno deviant breaks {}: {}",
                requirement.id,
                one_line(reason)
            );
        } else if requirement.level != Level::Must
            && deviant::breaking(&requirement.id).next().is_none()
        {
            let _ = writeln!(
                text,
                "\nno deviant breaks {}: only what is a `must` needs one",
                requirement.id
            );
        }
    }
    text
}

fn expectations(text: &mut String, lead: &str, case: &Case) {
    for profile in Profile::ALL {
        if let Some(accepted) = case.expectation.under(profile) {
            let accepted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{lead}{profile}: {}", accepted.join(" or "));
        }
    }
}

fn guest(fixture: &Fixture) -> String {
    format!("\n{}.wat:\n\n{}\n", fixture.path, fixture.text.trim_end())
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
