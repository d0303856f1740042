import { loadPastRules } from './load-table.ts'
import type { PastRule } from './rule.ts'
import { RuleTableError } from './table-errors.ts'

/** The rules of each revision that made a decision, or why they are unavailable. */
export type RulesByRevision = ReadonlyMap<string, readonly PastRule[] | string>

/**
 * Reads the rules of the revisions that made these decisions. `readSource` returns a rule table from the archive, or null. `no
 * template` refers to today's templates, `knownEventTypes`: past ones are not recorded.
 */
export async function readRules(
  decisions: readonly { readonly ruleTableRevision: string }[],
  readSource: (revision: string) => Promise<string | null>,
  knownEventTypes: readonly string[],
): Promise<RulesByRevision> {
  const rules = new Map<string, readonly PastRule[] | string>()
  for (const revision of new Set(decisions.map(({ ruleTableRevision }) => ruleTableRevision)))
    rules.set(revision, rulesIn(await readSource(revision), knownEventTypes))
  return rules
}

function rulesIn(source: string | null, knownEventTypes: readonly string[]): readonly PastRule[] | string {
  if (source === null) return 'the rule table then in force is not in the archive'
  try {
    return loadPastRules(source, knownEventTypes)
  } catch (error) {
    if (!(error instanceof RuleTableError)) throw error
    return 'this version cannot read the rule table then in force'
  }
}
