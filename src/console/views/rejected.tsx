import type { ShownRejectedMessage } from '../../core/event/rejected-message.ts'
import { REJECTIONS, UNREDRIVABLE } from '../../core/event/rejection.ts'
import { type Cell, Clamped, type Filter, List, pickValues, type Row, timeCell } from '../list.tsx'
import { Copy, Time, Title, Value } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { counted, decodeBegin, inWords, visible } from '../text.ts'
import { usePages } from '../use-data.ts'

const FILTERS: readonly Filter[] = [
  { name: 'topic', label: 'Topic' },
  { name: 'code', label: 'Error code', options: Object.keys(REJECTIONS).map((code) => [code, code]) },
  { name: 'open', label: 'Redriven', options: [['true', 'Not settled yet']] },
]

/** Rejected messages, newest first. */
export function RejectedView(route: Route) {
  const asked = { ...pickValues(FILTERS, route.query), cursor: route.query.cursor }
  return (
    <>
      <Title name="Rejected messages" />
      <p class="text-light">
        Messages that are not valid events, or whose row the database refused. A command is copied by a click.
      </p>
      <List
        label="Rejected messages"
        route={route}
        filters={FILTERS}
        pages={usePages<ShownRejectedMessage>(['rejected'], asked)}
        renderRow={renderRow}
        noun={['message', 'messages']}
      />
    </>
  )
}

function renderRow(rejected: ShownRejectedMessage): Row {
  const { id, rejectedAt, topic, partition, offset, error, code } = rejected
  return {
    key: id,
    cells: {
      Time: timeCell(rejectedAt),
      ID: id,
      Source: twoLines(topic, `partition ${partition}, offset ${offset}`),
      Error: twoLines(error, code),
      'First bytes': beginCell(rejected),
      'What next': <Next message={rejected} />,
    },
  }
}

function twoLines(text: string, below: string): Cell {
  return {
    title: visible(text),
    show: (
      <>
        <Clamped text={visible(text)} />
        <span class="text-light">{below}</span>
      </>
    ),
  }
}

function beginCell({ begin, byteCount, erasedAt }: ShownRejectedMessage): Cell {
  if (erasedAt !== null) {
    return (
      <>
        erased on <Time iso={erasedAt} />
      </>
    )
  }
  if (begin === null || byteCount === null) return null
  return twoLines(decodeBegin(begin, byteCount), counted(byteCount, 'byte', 'bytes'))
}

const RESULTS: Readonly<Record<string, string>> = {
  logged: 'Redriven: logged',
  duplicate: 'Redriven: already logged',
  rejected: 'Redriven: rejected again',
  dismissed: 'Dismissed',
}

/** The use of a redrive, by the code of a rejection. */
function describeRemedy(code: string): string {
  if (UNREDRIVABLE[code] !== undefined) return 'A redrive does not help: its producer must publish it again.'
  if (code === 'refused-by-database') return 'Redrive it once the database takes its row.'
  return 'A redrive helps only once rules/envelope.json reads it; else its producer must publish it again.'
}

/** The result of the last redrive, or the next step. */
function Next({ message: { id, code, erasedAt, redriven } }: { message: ShownRejectedMessage }) {
  const isOpen = redriven === null || redriven.result === 'rejected'
  const isErased = erasedAt !== null
  const remedy = isErased ? 'A redrive does not help: it was erased.' : describeRemedy(code)
  const commands = [
    ...(isErased ? [] : [`rejected show ${id}`]),
    ...(isErased || UNREDRIVABLE[code] !== undefined ? [] : [`rejected redrive ${id}`]),
    `rejected dismiss ${id} --because "…"`,
  ]
  const result = redriven && (RESULTS[redriven.result] ?? inWords(redriven.result))
  return (
    <>
      {redriven !== null && (
        <p>
          {redriven.locator === null ? result : <a href={buildHref(['log', redriven.locator])}>{result}</a>},{' '}
          <Time iso={redriven.at} /> by <Value text={redriven.by} />
        </p>
      )}
      {isOpen && (
        <>
          <p>{remedy}</p>
          {commands.map((command) => (
            <Copy key={command} text={`notifications-service ${command}`} label={command} />
          ))}
        </>
      )}
    </>
  )
}
