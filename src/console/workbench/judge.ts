import { useEffect, useRef, useState } from 'preact/hooks'
import type { ChangeSummary } from '../../core/rules/change-summary.ts'
import {
  loadVersion,
  readTexts,
  summariseChange,
  type Texts,
  type Version,
} from '../../core/workbench/review.ts'
import { csvOf, type Draft } from './draft.ts'

/** Result of the checks on a draft, and its changes. */
export interface Verdict extends Version {
  readonly of: Draft
  readonly summary: ChangeSummary
}

const PAUSE_MS_MAX = 250

/** Checking texts takes longest, and they seldom change. */
const textsOf = new WeakMap<Draft['templates'], Texts>()

async function versionOf(draft: Draft, outcomes: string): Promise<Version> {
  const files = Object.entries(draft.templates).map(([name, text]) => ({ name, text }))
  const texts = textsOf.get(draft.templates) ?? readTexts(files, outcomes)
  textsOf.set(draft.templates, texts)
  return loadVersion({ table: csvOf(draft, 'table'), promises: csvOf(draft, 'promises') }, texts)
}

/**
 * Checks the draft in this page, without the service. A check blocks the page, so typing gets a pause as long as a check. Null
 * before the first verdict.
 */
export function useVerdict(draft: Draft, inForce: Draft, outcomes: string): Verdict | null {
  const [verdict, setVerdict] = useState<Verdict | null>(null)
  const tookMs = useRef(0)
  useEffect(() => {
    const check = async () => {
      const startedMs = performance.now()
      const after = await versionOf(draft, outcomes)
      const summary = summariseChange(await versionOf(inForce, outcomes), after, outcomes)
      tookMs.current = performance.now() - startedMs
      setVerdict({ ...after, of: draft, summary })
    }
    const timer = setTimeout(check, Math.min(tookMs.current, PAUSE_MS_MAX))
    return () => clearTimeout(timer)
  }, [draft, inForce, outcomes])
  return verdict
}
