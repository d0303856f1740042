import { decideRecorded } from '../../service/decide/decision/decide.ts'
import { isAboutTemplates } from '../../service/decide/event/event-type-pattern.ts'
import { eventTypeCells } from '../../service/decide/rules/event-type-cell.ts'
import { enumerate } from '../../service/decide/rules/first-match.ts'
import { loadPastRules } from '../../service/decide/rules/load-table.ts'
import { decideByRule, isReadable } from '../../service/decide/rules/rule.ts'
import { RuleTableError } from '../../service/decide/rules/table-errors.ts'
import { describeFault } from '../../service/text/faults.ts'
import type { Archive, Decider, Unverifiable } from './verify-entry.ts'

/**
 * Past rule tables, templates and envelope maps. A changed source, which no longer matches its hash, is not used.
 *
 * @param templates sources by revision: all templates that were ever in force
 */
export function createArchive(
  templates: ReadonlyMap<string, string>,
  readRuleTable: (revision: string) => Promise<string | null>,
  sha256: (text: string) => string,
): Archive {
  const sound = new Map([...templates].filter(([revision, source]) => sha256(source) === revision))
  const tables = new Map<string, Promise<Decider | Unverifiable>>()

  async function load(revision: string): Promise<Decider | Unverifiable> {
    const name = `the decisions cannot be made again: rule table revision ${revision}`
    const source = await readRuleTable(revision)
    if (source === null) return wrong(`${name} is not in the archive`)
    if (sha256(source) !== revision) return wrong(`${name} was changed in the archive`)
    try {
      const rules = loadPastRules(source, [])
      if (eventTypeCells(rules).some(({ text }) => isAboutTemplates(text)))
        return wrong(`${name} asks for event types with a template, and which had one then is not recorded`)
      const { answers, findPosition } = await enumerate(rules, [])
      return {
        decide: (recorded) =>
          decideRecorded((facts) => {
            const rule = answers[findPosition(facts)]?.rule
            if (!rule) return undefined
            return isReadable(rule) ? decideByRule(rule, facts) : null
          }, recorded),
      }
    } catch (error) {
      if (!(error instanceof RuleTableError)) throw error
      return {
        fault: `${name} cannot be loaded by this version: ${error.faults.map(describeFault)[0]}`,
        isOfOtherVersion: true,
      }
    }
  }

  return {
    findTemplate: (revision) => sound.get(revision),
    loadTable: (revision) => {
      const table = tables.get(revision) ?? load(revision)
      tables.set(revision, table)
      return table
    },
  }
}

function wrong(fault: string): Unverifiable {
  return { fault, isOfOtherVersion: false }
}
