import type { Contacts } from '../party/contact.ts'
import type { Attempt } from './attempt.ts'
import type { Batch, CommitResult } from './batch.ts'
import type { Deliveries, OutgoingMessage } from './delivery.ts'
import type { LookedUpEntry } from './retry-entry.ts'

export interface Stages {
  batch: { input: Batch; result: CommitResult }
  look_up: { input: readonly string[]; result: unknown }
  contacts: { input: readonly string[]; result: Contacts }
  commit: { input: Batch; result: unknown }
  /** A part of `commit` or of `retry`. */
  send: { input: readonly OutgoingMessage[]; result: Deliveries }
  retry_contacts: { input: readonly string[]; result: Contacts }
  retry: { input: readonly LookedUpEntry[]; result: { readonly attempts: readonly Attempt[] } }
}
export type StageName = keyof Stages

/** Runs a stage, and records its duration and outcome. */
export type RunStage = <Name extends StageName, Result extends Stages[Name]['result']>(
  name: Name,
  input: Stages[Name]['input'],
  run: () => Promise<Result>,
) => Promise<Result>

export const unobserved: RunStage = (_name, _input, run) => run()
