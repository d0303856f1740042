import { literal } from '../text/markdown.ts'
import type { RuleTableDiff } from './diff.ts'
import { type ChangeGroup, describeRest, groupChanges, summariseDiff } from './diff-text.ts'

/** If more situations change, each kind of change is folded away. */
const SHOWN_COUNT_MAX = 12

/** The diff in sentences, for a pull request: a heading for each kind of change, the most harmful first. */
export function diffToMarkdown(diff: RuleTableDiff): string {
  const folded = diff.changes.length > SHOWN_COUNT_MAX
  const kinds = [...Map.groupBy(groupChanges(diff), ({ kind }) => kind)].map(([kind, groups]) => {
    const title = `#### ${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
    return [title, ...groups.map((group) => sentenceOf(group, folded))].join('\n\n')
  })
  const rest = describeRest(diff).map((line) => `- ${literal(line)}`)
  const parts = [
    `### Rule table: ${summariseDiff(diff)}`,
    ...kinds,
    ...(rest.length > 0 ? [`#### No difference to members\n\n${rest.join('\n')}`] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

function sentenceOf({ sentence, situations }: ChangeGroup, folded: boolean): string {
  const list = situations.map((situation) => `- ${literal(situation)}`).join('\n')
  return folded
    ? `<details><summary>${literal(sentence)}</summary>\n\n${list}\n\n</details>`
    : `${literal(sentence)}:\n\n${list}`
}
