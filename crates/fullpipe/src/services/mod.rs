//! Services files: what was sold, service by service, and what each must meet.

mod file;
mod spec;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fp_method::y1564::{Configuration, Service, Traffic};
use fp_model::{Direction, Family, FramesLoad, PacketLayout, Rate};

use crate::exit::Failure;
use crate::yaml::{Kind, Problem};

const KIND: Kind = Kind {
    key: "schema",
    schema: "fullpipe.services/1",
    describes: "set of services",
    name: "services file",
};

/// The JSON Schema of a services file.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

/// What a services file says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Services {
    pub(crate) services: Vec<Service>,
    pub(crate) configuration: Configuration,
    /// Of the performance test.
    pub(crate) duration: Duration,
    file: PathBuf,
    /// Of each service.
    places: Vec<Places>,
}

/// Where what may not fit between two ends stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    lengths: Place,
    cir: Place,
}

/// A place in the file, as messages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: u64,
    column: u64,
}

/// Reads the services file at `path`.
///
/// # Errors
/// Bad input: no such file, or what in it is wrong, where, and what is allowed.
pub(crate) fn load(path: &Path) -> Result<Services, Failure> {
    let text = KIND.text_of(path).map_err(Failure::bad_input)?;
    let located = |problem: Problem| anyhow!("{}:{problem}", path.display());
    let services = parse(&text).map_err(located).map_err(Failure::bad_input)?;
    Ok(Services { file: path.to_owned(), ..services })
}

fn parse(text: &str) -> Result<Services, Problem> {
    spec::services(&KIND.read(text)?)
}

impl Services {
    /// Whether the frames of every service can be sent between these ends, and all of them at once
    /// over the slowest line, if that is known.
    ///
    /// # Errors
    /// Bad input: what does not fit, where it stands, and what is allowed.
    pub(crate) fn fit(
        &self,
        family: Family,
        interface_mtu_bytes: u32,
        line_l1: Option<Rate>,
    ) -> Result<(), Failure> {
        let placed = || self.services.iter().zip(&self.places);
        for (service, places) in placed() {
            self.frames_fit(service, places.lengths, family, interface_mtu_bytes)?;
        }
        let Some(line_l1) = line_l1 else { return Ok(()) };
        for direction in [Direction::Download, Direction::Upload] {
            let mut needed: u64 = 0;
            for (service, places) in placed() {
                if !service.directions.list().contains(&direction) {
                    continue;
                }
                needed += on_the_line(service, interface_mtu_bytes).as_bps();
                if needed > line_l1.as_bps() {
                    let mbps = |bps: u64| bps as f64 / 1e6;
                    return Err(self.refusal(
                        places.cir,
                        &format!(
                            "with this CIR the services need {:.3} Mbit/s of the line ({direction}, \
                             preambles and gaps included), which carries {:.3}: sell less",
                            mbps(needed),
                            mbps(line_l1.as_bps())
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    fn frames_fit(
        &self,
        service: &Service,
        place: Place,
        family: Family,
        interface_mtu_bytes: u32,
    ) -> Result<(), Failure> {
        let Traffic::Frames(frames) = &service.traffic else { return Ok(()) };
        let least = FramesLoad::least_frame_bytes(family, service.vlan_tags);
        let most = full_frame_bytes(service, interface_mtu_bytes);
        let (shortest, longest) = (frames.sizes.shortest(), frames.sizes.longest());
        if least <= shortest && longest <= most {
            return Ok(());
        }
        Err(self.refusal(
            place,
            &format!(
                "frames of {shortest} to {longest} bytes cannot be sent here: between these ends a \
                 frame of this service has {least} to {most} bytes"
            ),
        ))
    }

    fn refusal(&self, Place { line, column }: Place, sentence: &str) -> Failure {
        Failure::bad_input(anyhow!("{}:{line}:{column}: {sentence}", self.file.display()))
    }
}

fn full_frame_bytes(service: &Service, mtu_bytes: u32) -> u32 {
    let tags_bytes = PacketLayout::VLAN_TAG_BYTES * u32::from(service.vlan_tags);
    mtu_bytes + PacketLayout::ETHERNET_L2_OVERHEAD + tags_bytes
}

/// The CIR with preamble and gap of each frame.
fn on_the_line(service: &Service, mtu_bytes: u32) -> Rate {
    let (frames, bytes) = match &service.traffic {
        Traffic::Frames(frames) => (frames.sizes.lengths().len(), frames.sizes.cycle_bytes()),
        Traffic::Tcp(_) => (1, u64::from(full_frame_bytes(service, mtu_bytes))),
    };
    let gaps = u64::from(PacketLayout::ETHERNET_L1_OVERHEAD) * frames as u64;
    service.cir_l2.scaled((bytes + gaps) as f64 / bytes as f64)
}

#[cfg(test)]
mod tests;
