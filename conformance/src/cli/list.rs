//! `list`: cases, requirements, or deviants.

use std::fmt::Write as _;
use std::process::ExitCode;

use wasi_cuda_conformance::catalogue::{Level, Requirement};
use wasi_cuda_conformance::deviant::{self, Deviant};
use wasi_cuda_conformance::text::one_line;
use wasi_cuda_conformance::{Profile, Suite, filter};

use super::{CliError, ListArguments, output};

pub(super) fn execute(arguments: &ListArguments) -> Result<ExitCode, CliError> {
    let suite = arguments.suite.load()?;
    let text = if arguments.requirements {
        requirements(&suite, arguments.profile)
    } else if arguments.deviants {
        deviants(arguments.profile)
    } else {
        cases(&suite, arguments)?
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn cases(suite: &Suite, arguments: &ListArguments) -> Result<String, CliError> {
    let shown = |profile: Profile| arguments.profile.is_none_or(|wanted| wanted == profile);
    let listed: Vec<_> = suite
        .cases()
        .map(|(_, case)| {
            (
                case,
                Profile::ALL
                    .into_iter()
                    .filter(|profile| case.expectation.under(*profile).is_some()),
            )
        })
        .map(|(case, profiles)| {
            (
                case,
                profiles
                    .filter(|profile| shown(*profile))
                    .map(Profile::name)
                    .collect::<Vec<_>>(),
            )
        })
        .filter(|(_, profiles)| !profiles.is_empty())
        .collect();
    let ids: Vec<&str> = listed.iter().map(|(case, _)| case.id.as_str()).collect();
    let chosen = arguments
        .filter
        .as_ref()
        .map(|text| filter::select(text, &ids))
        .transpose()?;
    let mut text = String::new();
    for (case, profiles) in listed.iter().filter(|(case, _)| {
        chosen
            .as_ref()
            .is_none_or(|ids| ids.contains(case.id.as_str()))
    }) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:6} {}  ({})",
            case.level,
            case.id,
            profiles.join(", ")
        );
    }
    Ok(text)
}

fn requirements(suite: &Suite, profile: Option<Profile>) -> String {
    let profiles: Vec<Profile> = Profile::ALL
        .into_iter()
        .filter(|candidate| profile.is_none_or(|wanted| wanted == *candidate))
        .collect();
    let width = suite
        .catalogue
        .requirements()
        .map(|requirement| requirement.id.len())
        .max()
        .unwrap_or(0);
    let mut text = format!("{:width$}  level   class     ", "requirement");
    for profile in &profiles {
        let _ = write!(text, "  {profile:>9}");
    }
    text.push_str("  deviants  statement\n");
    for requirement in suite.catalogue.requirements() {
        let _ = write!(
            text,
            "{:width$}  {:6}  {:10}",
            requirement.id, requirement.level, requirement.class
        );
        for profile in &profiles {
            let _ = write!(
                text,
                "  {:>9}",
                suite.cases_of(requirement, *profile).count()
            );
        }
        let _ = writeln!(
            text,
            "  {:>8}  {}",
            deviant::breaking(&requirement.id).count(),
            one_line(&requirement.statement)
        );
    }
    text.push_str(&totals(suite, &profiles));
    text
}

/// Requirements by level, cases by profile, deviants.
fn totals(suite: &Suite, profiles: &[Profile]) -> String {
    let levels = Level::ALL.map(|level| {
        let of_level = |requirement: &&Requirement| requirement.level == level;
        let count = suite.catalogue.requirements().filter(of_level).count();
        format!("{count} {level}")
    });
    let cases = profiles.iter().map(|profile| {
        let judged = suite
            .fixtures
            .iter()
            .filter(|fixture| fixture.profiles.contains(profile))
            .flat_map(|fixture| fixture.judged(*profile));
        format!("{} {profile}", judged.count())
    });
    let known = |deviant: &&Deviant| {
        let mut broken = deviant.breaks.iter();
        broken.any(|id| suite.catalogue.requirement(id).is_some())
    };
    format!(
        "total: {} requirements ({}); cases: {}; {} deviants\n",
        suite.catalogue.requirements().count(),
        levels.join(", "),
        cases.collect::<Vec<_>>().join(", "),
        deviant::all().filter(known).count()
    )
}

fn deviants(profile: Option<Profile>) -> String {
    let shown = |deviant: &&Deviant| profile.is_none_or(|wanted| wanted == deviant.profile);
    let width = deviant::all().map(|deviant| deviant.name.len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for deviant in deviant::all().filter(shown) {
        let _ = writeln!(
            text,
            "{:width$}  {:9}  {}  a host that {}",
            deviant.name,
            deviant.profile,
            deviant.breaks.join(", "),
            deviant.wrong
        );
    }
    text
}
