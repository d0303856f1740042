import { RuleTableError } from '../rules/errors.ts'
import { loadRuleTable } from '../rules/load-table.ts'
import type { Rule } from '../rules/rule.ts'

/** The rules of each revision that made a decision, or why they are unavailable. */
export type RulesByRevision = ReadonlyMap<string, readonly Rule[] | string>

/** A few hundred kilobytes of rules at most. A few revisions made nearly all decisions that people ask about. */
const REVISION_COUNT_MAX = 16

/**
 * Reads past rules by revision, and caches the last 16 loaded: the source of a hash never changes. `readSource` returns a rule
 * table from the archive, or null. `no template` is read with today's templates, `knownEventTypes`, since past ones are not
 * recorded.
 */
export function createRuleCache(
  readSource: (revision: string) => Promise<string | null>,
  knownEventTypes: readonly string[],
) {
  const known = new Map<string, readonly Rule[] | string>()

  async function load(revision: string): Promise<readonly Rule[] | string> {
    const source = await readSource(revision)
    if (source === null) return 'the rule table then in force is not in the archive'
    const rules = readRules(source, knownEventTypes)
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= REVISION_COUNT_MAX) known.delete(oldest)
    known.set(revision, rules)
    return rules
  }

  return async (decisions: readonly { ruleTableRevision: string }[]): Promise<RulesByRevision> => {
    const rules = new Map<string, readonly Rule[] | string>()
    for (const { ruleTableRevision: revision } of decisions)
      if (!rules.has(revision)) rules.set(revision, known.get(revision) ?? (await load(revision)))
    return rules
  }
}

function readRules(source: string, knownEventTypes: readonly string[]): readonly Rule[] | string {
  try {
    return loadRuleTable(source, knownEventTypes, true).rules
  } catch (error) {
    if (!(error instanceof RuleTableError)) throw error
    return 'this version cannot read the rule table then in force'
  }
}
