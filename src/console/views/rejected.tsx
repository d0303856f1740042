import type { ShownRejectedMessage } from '../../core/event/rejected-message.ts'
import { REJECTIONS } from '../../core/event/rejection.ts'
import { Choice, Field, Filters, ListProblem, More, Nothing, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { beginOf, counted } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

/** Rejected messages, newest first. */
export function RejectedView({ query: { topic, code, open }, visit }: Visit) {
  const pages = usePages<ShownRejectedMessage>(['rejected'], { topic, code, open }, visit)
  return (
    <>
      <Title name="Rejected messages" />
      <p class="lead">
        Messages that are not valid events, or whose row the database refused. They are stored:{' '}
        <code>rejected show</code> prints one, and <code>rejected redrive</code> processes it again.
      </p>
      <Filters view="rejected" values={{ topic, code, open }}>
        <Field label="Topic" name="topic" value={topic} />
        <Choice label="Error code" name="code" value={code} options={Object.keys(REJECTIONS)} />
        <Choice label="Redriven" name="open" value={open} options={[['true', 'Not settled yet']]} />
      </Filters>
      <ListProblem of={pages} />
      <Table
        label="Rejected messages"
        columns={['Time', ['ID', 'mono'], 'Source', ['Error', 'wide'], ['First bytes', 'wide'], 'Redriven']}
        rows={(pages.data ?? []).map((rejected) => ({
          key: rejected.id,
          cells: [
            <Time of={rejected.rejectedAt} />,
            rejected.id,
            <>
              <Value of={rejected.topic} />
              <br />
              <span class="faint nowrap">
                partition {rejected.partition}, offset {rejected.offset}
              </span>
            </>,
            <>
              <Value of={rejected.error} />
              <br />
              <span class="faint mono">{rejected.code}</span>
            </>,
            <Begin of={rejected} />,
            <Redriven of={rejected.redriven} />,
          ],
        }))}
      />
      <More pages={pages} one="message" many="messages" />
    </>
  )
}

function Begin({ of: { begin, byteCount, erasedAt } }: { of: ShownRejectedMessage }) {
  if (erasedAt !== null) {
    return (
      <span class="faint">
        erased on <Time of={erasedAt} />
      </span>
    )
  }
  if (begin === null || byteCount === null) return <Nothing />
  return (
    <>
      <code class="bytes">
        <bdi>{beginOf(begin, byteCount)}</bdi>
      </code>
      <span class="faint nowrap">{counted(byteCount, 'byte', 'bytes')}</span>
    </>
  )
}

const RESULTS = { logged: 'logged', duplicate: 'already logged', rejected: 'rejected again' } as const

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
