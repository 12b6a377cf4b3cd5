//! A full disk, and the same command with more space.

use super::{Case, Left};
use crate::{
    scenario::Scenario,
    shim::Plan,
    world::{With, World},
};
use std::{io, path::PathBuf, process::Command};

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let scenario = Scenario::any(&mut case.random);
    case.tell(scenario.to_string());
    let expected = case.campaign.expected(scenario)?;
    let world = case.campaign.world(scenario)?;
    let kib = 8 + case.random.below(700);
    let disk = if case.random.percent(70) { Disk::mount(&world) } else { None };
    world.prepare()?;
    let ended = if let Some(disk) = &disk {
        let used = disk.used_kib();
        case.tell(format!("{kib} KiB free on a tmpfs"));
        disk.resize(used + kib)?;
        let ended = world.run(&With::default())?;
        disk.resize(1 << 20)?;
        ended
    } else {
        let n = 1 + case.random.part(expected.counts[1]);
        case.tell(format!("ENOSPC from write {n} on"));
        let plan = Plan { kinds: vec!["write"], n, action: "fail", errno: 28, persist: true };
        world.run(&With { plan: Some(&plan), ..With::default() })?
    };
    case.check_torn(&world);
    if ended.code == Some(0) {
        case.check_end(&ended);
        return case.compare(&world, Left::Nothing);
    }
    case.check_refusal(&world, &ended, &[3]);
    case.verdict.refused = true;
    case.finish(&world)
}

/// A separate file system over the folder of a case.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one, if this process may.
    fn mount(world: &World) -> Option<Self> {
        let target = world.case();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1g", "crawl-faults"])
            .arg(&target)
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            return None;
        }
        let disk = Self(target);
        for folder in ["tmp", "home"] {
            std::fs::create_dir(disk.0.join(folder)).ok()?;
        }
        Some(disk)
    }

    fn used_kib(&self) -> u64 {
        let output = Command::new("df").args(["--output=used", "-k"]).arg(&self.0).output();
        let text =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0)
    }

    fn resize(&self, kib: u64) -> io::Result<()> {
        let status =
            Command::new("mount").arg("-o").arg(format!("remount,size={kib}k")).arg(&self.0).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other("the tmpfs cannot be resized")) }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
