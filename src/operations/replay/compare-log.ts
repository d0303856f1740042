import { sha256 } from '../../service/app/sha256.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readArchived, readArchivedTemplates } from '../../service/store/read/read-archive.ts'
import { createArchive } from './archive.ts'
import { recordedEntryPages } from './list-recorded-entries.ts'
import { wasErased } from './rebuild-entry.ts'
import type { Difference, ReplayFinding, Summary } from './replay-finding.ts'
import { restoreMissingEntries } from './restore-missing-entries.ts'
import { missingRow, type Unverifiable, verify } from './verify-entry.ts'

/** Maximum number of rows in a page, and in one transaction of a rebuild. */
const PAGE_COUNT_MAX = 2_000

interface ReplayOptions {
  /** Inserts missing rows; otherwise nothing is written. */
  readonly isRebuild: boolean
  readonly report: (finding: ReplayFinding) => Promise<void>
  readonly onProgress: (summary: Summary) => void
}

interface Unverified extends Pick<Unverifiable, 'isOfOtherVersion'> {
  entries: number
  readonly locator: string
}

/**
 * Rebuilds the log from its decisions, compares it with the stored one page by page, and reports each finding, the summary last.
 * Resolves to true if no difference is left, and unverified rows depend on another version only. Memory does not grow with the log.
 */
export async function replay(
  pool: DatabasePool,
  { isRebuild, report, onProgress }: ReplayOptions,
  pageCountMax = PAGE_COUNT_MAX,
): Promise<boolean> {
  const archive = createArchive(
    await readArchivedTemplates(pool),
    (revision) => readArchived(pool, 'ruleset', revision),
    sha256,
  )
  let summary: Summary = { entries: 0, erased: 0, differences: 0, restored: 0, left: 0 }
  const unverifiable = new Map<string, Unverified>()

  for await (const page of recordedEntryPages(pool, pageCountMax)) {
    const differences: Difference[] = []
    for (const recorded of page) {
      const verified = await verify(recorded, archive)
      differences.push(...verified.differences)
      for (const [fault, { isOfOtherVersion }] of new Map(
        verified.unverifiable.map((reason) => [reason.fault, reason]),
      )) {
        const known = unverifiable.get(fault)
        if (known === undefined)
          unverifiable.set(fault, { entries: 1, locator: recorded.locator, isOfOtherVersion })
        else known.entries++
      }
    }
    for (const difference of differences) await report(difference)
    const missing = page
      .filter((recorded) => missingRow(recorded, archive) !== null)
      .map(({ locator }) => locator)
    const restored =
      isRebuild && missing.length > 0 ? await restoreMissingEntries(pool, missing, archive) : []
    summary = {
      entries: summary.entries + page.length,
      erased: summary.erased + page.filter(({ decisions }) => wasErased(decisions)).length,
      differences: summary.differences + differences.length,
      restored: summary.restored + restored.length,
      left: summary.left + differences.length - restored.length,
    }
    onProgress(summary)
  }
  for (const [fault, unverified] of unverifiable) await report({ kind: 'unverified', fault, ...unverified })
  await report({ kind: 'summary', ...summary })
  return summary.left === 0 && [...unverifiable.values()].every(({ isOfOtherVersion }) => isOfOtherVersion)
}
