import { parentPort, workerData } from 'node:worker_threads'
import { RuleTableError } from '../../core/rules/errors.ts'
import { tryEvent } from '../../core/rules/try-event.ts'
import { type Candidate, type Review, reviewCandidate } from '../../core/workbench/review.ts'
import { eventOfTrial, type Trial, type TrialResult } from '../../core/workbench/trial.ts'
import { type ReadGrid, readGrid } from '../../core/workbench/workbench.ts'
import { templates } from '../../generated/templates.ts'
import { ruleTableOf, TEMPLATE_EVENT_TYPES } from '../rule-files.ts'

/** Exactly one of them is there. */
export interface ReviewJob {
  readonly sheet?: { readonly csv: string; readonly columns: readonly string[]; readonly what: string }
  readonly candidate?: Candidate
  readonly trial?: { readonly table: string; readonly of: Trial }
}

export interface ReviewMessage {
  readonly read?: ReadGrid
  readonly review?: Review
  readonly tried?: TrialResult
  /** Why the table cannot be tried. */
  readonly faults?: readonly string[]
}

const files = workerData as { readonly table: string; readonly promises: string }
const ruleTable = ruleTableOf(files.table)

parentPort?.on('message', async (job: ReviewJob) => parentPort?.postMessage(await answer(job)))
parentPort?.postMessage(null)

async function answer({ sheet, candidate, trial }: ReviewJob): Promise<ReviewMessage> {
  if (sheet !== undefined) return { read: readGrid(sheet.csv, sheet.columns, sheet.what) }
  if (candidate !== undefined) {
    const inForce = { ruleTable: await ruleTable, promises: files.promises }
    return { review: await reviewCandidate(candidate, inForce, TEMPLATE_EVENT_TYPES, ruleTableOf) }
  }
  if (trial === undefined) throw new Error('an empty job')
  try {
    const tried = tryEvent(await ruleTableOf(trial.table), templates, eventOfTrial(trial.of))
    return { tried: { ...tried, rulesAbove: [...tried.rulesAbove] } }
  } catch (error) {
    if (error instanceof RuleTableError) return { faults: error.faults }
    throw error
  }
}
