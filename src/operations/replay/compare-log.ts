import type { LogRow } from '../../service/model/log/log-entry.ts'
import { wasErased } from './rebuild-entry.ts'
import type { Difference, ReplayFinding, Summary } from './replay-finding.ts'
import { type Archive, missingRow, type RecordedEntry, type Unverifiable, verify } from './verify-entry.ts'

interface ReplayOptions {
  readonly pages: AsyncIterable<readonly RecordedEntry[]>
  readonly archive: Archive
  /** Inserts missing rows and returns the locators of the inserted ones. Null: read-only. */
  readonly restore:
    | ((
        locators: readonly string[],
        missingRow: (recorded: RecordedEntry) => LogRow | null,
      ) => Promise<readonly string[]>)
    | null
  readonly report: (finding: ReplayFinding) => Promise<void>
  readonly onProgress: (summary: Summary) => void
}

interface Unverified extends Pick<Unverifiable, 'isOfOtherVersion'> {
  entries: number
  readonly locator: string
}

/**
 * Rebuilds the log from its decisions, compares it with the stored one page by page, and reports each finding, the summary last;
 * `restore` inserts missing rows. Resolves to true if no difference is left, and unverified rows depend on another version only.
 * Memory does not grow with the log.
 */
export async function replay({
  pages,
  archive,
  restore,
  report,
  onProgress,
}: ReplayOptions): Promise<boolean> {
  let summary: Summary = { entries: 0, erased: 0, differences: 0, restored: 0, left: 0 }
  const unverifiable = new Map<string, Unverified>()

  for await (const page of pages) {
    const differences: Difference[] = []
    for (const recorded of page) {
      const verified = await verify(recorded, archive)
      differences.push(...verified.differences)
      for (const [fault, { isOfOtherVersion }] of new Map(
        verified.unverifiable.map((one) => [one.fault, one]),
      )) {
        const known = unverifiable.get(fault)
        if (known === undefined)
          unverifiable.set(fault, { entries: 1, locator: recorded.locator, isOfOtherVersion })
        else known.entries++
      }
    }
    for (const difference of differences) await report(difference)
    const missing = page.flatMap((recorded) =>
      missingRow(recorded, archive) === null ? [] : [recorded.locator],
    )
    const restored =
      restore === null || missing.length === 0
        ? []
        : await restore(missing, (recorded) => missingRow(recorded, archive))
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
