//! Programs find libtutti where the crate has found it, also when it is not installed.
fn main() {
    if let Ok(folder) = std::env::var("DEP_TUTTI_LIBDIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
