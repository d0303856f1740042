import type { Situation } from '../../service/decide/decision/facts.ts'
import type { FirstMatch } from '../../service/decide/rules/first-match.ts'
import { type Cell, listCovering } from '../../service/decide/rules/judge-rules.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'

/** The fault if a rule decides a case, or null. `cell` would exclude the case, if a cell can. */
export type FindWrong = (rule: Rule, answer: FirstMatch) => { readonly cell: Cell | null } | null

/** A case of a rule. `next` would decide it without the rule. */
interface OwnCase {
  readonly situation: Situation
  readonly wrong: ReturnType<FindWrong>
  readonly next: Rule | undefined
  readonly isWrongNext: boolean
}

/**
 * Returns the smallest change of a rule, in words, after which it decides nothing wrongly, hides no rule, and still decides
 * something: cells to fill in, a row to move it below, or both. Null if no such change mends it, or if it has no fault.
 */
export function createRemedies(
  rules: readonly Rule[],
  answers: readonly FirstMatch[],
  findWrong: FindWrong,
): (rule: Rule) => string | null {
  const alive = new Set(answers.map(({ rule }) => rule))
  const found = new Map<Rule, string | null>()
  function findRemedy(rule: Rule): string | null {
    const deciding = answers.filter((answer) => answer.rule === rule)
    const own = deciding.map((answer): OwnCase => {
      const next = listCovering(rules, answer).find(({ row }) => row > rule.row)
      const isWrongNext = next === undefined || findWrong(next, answer) !== null
      return { situation: answer.situation, wrong: findWrong(rule, answer), next, isWrongNext }
    })
    const hidden = new Set(own.flatMap(({ next }) => (next && !alive.has(next) ? [next] : [])))
    if (hidden.size === 0 && own.every(({ wrong }) => wrong === null)) return null
    const below = [...new Set(own.flatMap(({ next }) => next ?? []))].toSorted((a, b) => a.row - b.row)
    for (const cells of listChoices(own.flatMap(({ wrong }) => wrong?.cell ?? [])))
      for (const last of [null, ...below])
        if (isMended(own, hidden, cells, last)) return describeRemedy(rule, cells, last)
    return null
  }
  // Each promise broken by a rule asks again.
  return (rule) => {
    if (!found.has(rule)) found.set(rule, findRemedy(rule))
    return found.get(rule) ?? null
  }
}

/**
 * True if the rule, with these cells added and moved below `last`, decides nothing wrongly, and the cases that it gives up go to no
 * wrong rule.
 */
function isMended(
  own: readonly OwnCase[],
  hidden: ReadonlySet<Rule>,
  cells: readonly Cell[],
  last: Rule | null,
): boolean {
  const isKept = ({ situation, next }: OwnCase) =>
    cells.every(({ fact, value }) => situation[fact] === value) &&
    (last === null || next === undefined || next.row > last.row)
  const [kept, left] = [own.filter(isKept), own.filter((answer) => !isKept(answer))]
  const shown = new Set(left.map(({ next }) => next))
  return (
    kept.length > 0 &&
    kept.every(({ wrong }) => wrong === null) &&
    !left.some(({ isWrongNext }) => isWrongNext) &&
    [...hidden].every((rule) => shown.has(rule))
  )
}

/** Every choice of these cells, smallest first. */
function listChoices(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const choices: (readonly Cell[])[] = [[]]
  for (const cell of new Map(cells.map((cell) => [cell.words, cell])).values())
    choices.push(...choices.map((choice) => [...choice, cell]))
  return choices.toSorted((a, b) => a.length - b.length)
}

function describeRemedy({ id }: Rule, cells: readonly Cell[], last: Rule | null): string {
  const written = cells.length === 0 ? [] : [`write ${cells.map(({ words }) => words).join(', and ')}`]
  const moved = last === null ? [] : [`move rule "${id}" below row ${last.row} ("${last.id}")`]
  return [...written, ...moved].join(', and ')
}
