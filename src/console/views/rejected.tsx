import type { ShownRejectedMessage } from '../../core/event/rejected-message.ts'
import { REJECTIONS } from '../../core/event/rejection.ts'
import { Clamped, type Filter, List, type Row, timeCell } from '../list.tsx'
import { Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { beginOf, counted, visible } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const FILTERS: readonly Filter[] = [
  { name: 'topic', label: 'Topic' },
  { name: 'code', label: 'Error code', options: Object.keys(REJECTIONS) },
  { name: 'open', label: 'Redriven', options: [['true', 'Not settled yet']] },
]

/** Rejected messages, newest first. */
export function RejectedView({ query, visit }: Visit) {
  const { topic, code, open, cursor } = query
  const pages = usePages<ShownRejectedMessage>(['rejected'], { topic, code, open, cursor }, visit)
  return (
    <>
      <Title name="Rejected messages" />
      <p class="faint">
        Messages that are not valid events, or whose row the database refused. <code>rejected show</code>{' '}
        prints one, <code>rejected redrive</code> processes it again.
      </p>
      <List
        at={['rejected']}
        label="Rejected messages"
        filters={FILTERS}
        query={query}
        pages={pages}
        columns={[['Time', 'short'], ['ID', 'short mono'], 'Source', 'Error', 'First bytes', 'Redriven']}
        rowOf={rowOf}
        one="message"
        many="messages"
      />
    </>
  )
}

function rowOf(rejected: ShownRejectedMessage): Row {
  const { id, rejectedAt, topic, partition, offset, error, code } = rejected
  return {
    key: id,
    cells: [
      timeCell(rejectedAt),
      id,
      twoLines(topic, `partition ${partition}, offset ${offset}`),
      twoLines(error, code),
      beginCell(rejected),
      <Redriven key="redriven" of={rejected.redriven} />,
    ],
  }
}

function twoLines(text: string, below: string): Row['cells'][number] {
  return {
    title: visible(text),
    show: (
      <>
        <Clamped text={visible(text)} />
        <span class="faint">{below}</span>
      </>
    ),
  }
}

function beginCell({ begin, byteCount, erasedAt }: ShownRejectedMessage): Row['cells'][number] {
  if (erasedAt !== null) {
    return (
      <span class="faint">
        erased on <Time of={erasedAt} />
      </span>
    )
  }
  if (begin === null || byteCount === null) return null
  return twoLines(beginOf(begin, byteCount), counted(byteCount, 'byte', 'bytes'))
}

const RESULTS = {
  logged: 'logged',
  duplicate: 'already logged',
  rejected: 'rejected again',
  dismissed: 'dismissed',
} as const

function Redriven({ of }: { of: ShownRejectedMessage['redriven'] }) {
  if (of === null) return <span class="faint">never</span>
  return (
    <>
      {of.locator === null ? (
        RESULTS[of.result]
      ) : (
        <a href={hrefOf(['log', of.locator])}>{RESULTS[of.result]}</a>
      )}
      <br />
      <span class="faint">
        <Time of={of.at} /> by <Value of={of.by} />
      </span>
    </>
  )
}
