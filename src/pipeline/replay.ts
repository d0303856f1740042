import type { LogRow } from '../core/log/log-entry.ts'
import type { LoadableArchive } from '../core/replay/archive.ts'
import type { Difference, Finding, Restored, Summary } from '../core/replay/finding.ts'
import { wasErased } from '../core/replay/rebuild-entry.ts'
import { type Recorded, repairedRow, verify } from '../core/replay/verify-entry.ts'

export interface ReplayNeeds {
  /** All that is recorded, in pages. */
  readonly pages: AsyncIterable<readonly Recorded[]>
  readonly archive: LoadableArchive
  /**
   * Puts rows back, in one transaction: what is recorded is read again under locks, and `repair` returns the row to store.
   * Null: nothing may be written.
   */
  readonly restore:
    | ((locators: readonly string[], repair: (recorded: Recorded) => LogRow | null) => Promise<Restored>)
    | null
  readonly report: (finding: Finding) => Promise<void>
  /** Called after each page. */
  readonly onProgress: (summary: Summary) => void
}

/**
 * Rebuilds the log from its decisions, compares it with the stored one page by page, and reports each finding, the summary
 * last. Resolves to whether in the end nothing differs. Memory does not grow with the log.
 */
export async function replay({ pages, archive, restore, report, onProgress }: ReplayNeeds): Promise<boolean> {
  let summary: Summary = { entries: 0, erased: 0, differences: 0, restored: 0, left: 0 }
  const unverifiable = new Map<string, { entries: number; readonly locator: string }>()

  for await (const page of pages) {
    await archive.loadTables(page)
    const differences: Difference[] = []
    const toRepair: string[] = []
    for (const recorded of page) {
      const verified = verify(recorded, archive)
      differences.push(...verified.differences)
      for (const fault of new Set(verified.unverifiable)) {
        const known = unverifiable.get(fault)
        if (known === undefined) unverifiable.set(fault, { entries: 1, locator: recorded.locator })
        else known.entries++
      }
      if (verified.differences.length > 0 && repairedRow(recorded, archive) !== null)
        toRepair.push(recorded.locator)
    }
    for (const difference of differences) await report(difference)
    const { locators, blocked } =
      restore === null || toRepair.length === 0
        ? { locators: [], blocked: [] }
        : await restore(toRepair, (recorded) => repairedRow(recorded, archive))
    for (const row of blocked) await report({ kind: 'blocked', ...row })
    const restored = new Set(locators)
    // A row is put back whole; a decision stays as it is.
    const left = differences.filter(({ kind, locator }) => kind === 'decision' || !restored.has(locator))
    summary = {
      entries: summary.entries + page.length,
      erased: summary.erased + page.filter(({ decisions }) => wasErased(decisions)).length,
      differences: summary.differences + differences.length,
      restored: summary.restored + restored.size,
      left: summary.left + left.length,
    }
    onProgress(summary)
  }
  for (const [fault, { entries, locator }] of unverifiable)
    await report({ kind: 'untold', fault, entries, locator })
  await report({ kind: 'summary', ...summary })
  return summary.left === 0 && unverifiable.size === 0
}
