import { RuleTableError } from '../rules/errors.ts'
import { loadRuleTable } from '../rules/load-table.ts'
import type { Rule } from '../rules/rule.ts'

/** The rules of each revision that made a decision, or why they are not available. */
export type RulesByRevision = ReadonlyMap<string, readonly Rule[] | string>

/** Some hundred kilobytes of rules at most; a few revisions made nearly all decisions that anyone asks about. */
const REVISION_COUNT_MAX = 16

/**
 * Reads the rules of the past by revision, and remembers those that were read first: what stands under a hash never
 * changes. `readSource` returns a rule table from the archive, null where there is none. `no template` is read by the templates of
 * today, `knownEventTypes`: which there were in its time is not recorded.
 */
export function createRuleCache(
  readSource: (revision: string) => Promise<string | null>,
  knownEventTypes: readonly string[],
) {
  const known = new Map<string, readonly Rule[] | string>()

  async function rulesOf(revision: string): Promise<readonly Rule[] | string> {
    const remembered = known.get(revision)
    if (remembered !== undefined) return remembered
    const source = await readSource(revision)
    if (source === null) return 'the rule table of its time is not in the archive'
    const rules = readRules(source, knownEventTypes)
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= REVISION_COUNT_MAX) known.delete(oldest)
    known.set(revision, rules)
    return rules
  }

  return async (decisions: readonly { ruleTableRevision: string }[]): Promise<RulesByRevision> => {
    const rules = new Map<string, readonly Rule[] | string>()
    for (const { ruleTableRevision } of decisions) {
      if (!rules.has(ruleTableRevision)) rules.set(ruleTableRevision, await rulesOf(ruleTableRevision))
    }
    return rules
  }
}

function readRules(source: string, knownEventTypes: readonly string[]): readonly Rule[] | string {
  try {
    return loadRuleTable(source, knownEventTypes, true).rules
  } catch (error) {
    if (!(error instanceof RuleTableError)) throw error
    return 'this version cannot read the rule table of its time'
  }
}
