//! Links the addon against Node.

fn main() {
    napi_build::setup();
}
