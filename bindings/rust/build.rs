//! Tests and examples of this package find libtutti when they start where tutti-sys has found it.
fn main() {
    if let Ok(folder) = std::env::var("DEP_TUTTI_LIBDIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
