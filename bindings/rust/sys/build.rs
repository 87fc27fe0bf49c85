//! Finds libtutti: in the folder that the environment variable TUTTI_LIB_DIR names, else by
//! pkg-config.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TUTTI_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=dylib=tutti");
    if let Some(folder) = env::var("TUTTI_LIB_DIR").ok().or_else(ask_pkg_config) {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:libdir={folder}"); // DEP_TUTTI_LIBDIR, for build scripts of dependents
    }
}

/// Where pkg-config says that the library is; nothing if it does not know, and the linker looks
/// where it always does.
fn ask_pkg_config() -> Option<String> {
    let asked = Command::new("pkg-config").args(["--variable=libdir", "tutti"]).output().ok()?;
    let folder = String::from_utf8(asked.stdout).ok()?.trim().replace("\\ ", " ");
    (asked.status.success() && !folder.is_empty()).then_some(folder)
}
