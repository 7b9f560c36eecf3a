#[derive(Debug)]
pub(super) struct Signature(Vec<soft_gpu::Param>, Vec<bool>);
impl Signature {
    pub(super) fn of(ptx: &[u8], entry: &str) -> Result<Option<Self>, soft_gpu::PtxError> {
        let m = soft_gpu::Module::load(ptx)?;
        Ok(m.entry(entry)
            .map(|e| Self(e.params().to_vec(), vec![true; e.params().len()])))
    }
    pub(super) fn params(&self) -> &[soft_gpu::Param] {
        &self.0
    }
    pub(super) fn written(&self) -> &[bool] {
        &self.1
    }
}
