//! Links the addon against Node.

fn main() {
    // Cargo sets this only when the binding is being built; the core links against nothing of Node.
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
}
