import fc from 'fast-check'

// The same examples on each run, so that a test which was green stays green. `make soak-properties` tries others.
fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) })

export { default } from 'fast-check'
