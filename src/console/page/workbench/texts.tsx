import { nameOfPart } from '../../../authoring/templates/insert-parts.ts'
import type { PreviewedText } from '../../../authoring/templates/preview.ts'
import { describeSms } from '../../../authoring/templates/sms-length.ts'
import { CHANNEL_KINDS } from '../../../service/decide/party/channel.ts'
import { Button, Card, Choice, Field, filledIn } from '../parts.tsx'
import { inWords } from '../text.ts'
import { Message } from '../views/entry.tsx'
import type { Bench, Verdict } from './draft.ts'
import { Notice } from './findings.tsx'

const EXTENSION = '.mustache'
const GENERIC = `generic${EXTENSION}`
const FIRST = 'Subject: News of {{locator}}\n\nHello,\n\nThere is news of {{locator}}.\n'

interface TextsEditorProps extends Bench {
  readonly verdict: Verdict
  /** Types of recent events. */
  readonly seen: readonly string[]
  readonly isReadOnly: boolean
  readonly chosen: string | null
  readonly choose: (file: string) => void
}

/** The text of each event type, as its file and as members get it. */
export function TextsEditor(props: TextsEditorProps) {
  const { verdict, seen, isReadOnly, chosen, choose, change } = props
  const { report } = verdict.texts
  const { templates } = props.draft
  const { templates: inForce } = props.inForce
  const isFaulty = (name: string) => report.faults.some(({ file }) => file === name)
  const names = Object.keys(templates)
  const first = names.find(isFaulty) ?? names.find((name) => templates[name] !== inForce[name]) ?? names[0]
  const name = chosen !== null && chosen in templates ? chosen : (first ?? GENERIC)
  const was = inForce[name]
  const describeRemarks = (faults: typeof report.faults) =>
    faults
      .filter(({ file }) => file === name)
      .map(({ line, text }) => (line === null ? `The file name ${text}` : `Line ${line}: ${text}`))
  const labelsOfText = (file: string) =>
    [
      isFaulty(file) && 'faulty',
      inForce[file] === undefined ? 'new' : templates[file] !== inForce[file] && 'changed',
    ].filter(Boolean)
  const add = (event: SubmitEvent) => {
    const file = `${filledIn(event).eventType}${EXTENSION}`
    choose(file)
    if (!(file in templates)) change({ templates: { ...templates, [file]: FIRST } })
  }
  const takeBack = () => {
    const { [name]: _, ...rest } = templates
    change({ templates: was === undefined ? rest : { ...templates, [name]: was } })
  }
  return (
    <>
      <div class="hstack">
        <Choice
          label="Text for"
          value={name}
          options={names.map((file) => [
            file,
            [file.slice(0, -EXTENSION.length), ...labelsOfText(file)].join(', '),
          ])}
          onValue={choose}
        />
        {!isReadOnly && (
          <>
            <form class="hstack" onSubmit={add}>
              <Field
                label="Event type without a text"
                name="eventType"
                list="without-text"
                required
                maxLength={240}
              />
              <datalist id="without-text">
                {seen
                  .filter((eventType) => !(`${eventType}${EXTENSION}` in templates))
                  .map((eventType) => (
                    <option key={eventType} value={eventType} />
                  ))}
              </datalist>
              <button type="submit" class="outline">
                Add a text
              </button>
            </form>
            {templates[name] !== was && (
              <Button onClick={takeBack}>
                {was === undefined ? 'Remove this text' : 'Revert this text'}
              </Button>
            )}
          </>
        )}
      </div>
      <div class="columns">
        <section class="card" aria-label="The file">
          <label>
            templates/{name}
            <textarea
              rows={14}
              value={templates[name]}
              readOnly={isReadOnly}
              aria-invalid={isFaulty(name)}
              onInput={({ currentTarget }) =>
                change({ templates: { ...templates, [name]: currentTarget.value } }, name)
              }
            />
          </label>
          <div aria-live="polite">
            <Notice lines={describeRemarks(report.faults)} isBad />
            <Notice lines={describeRemarks(report.warnings)} />
          </div>
          <p class="text-light">
            <code>{'{{locator}}'}</code> is the claim, policy or bill; <code>{'{{reason}}'}</code> the reason;{' '}
            <code>{'{{#reason}}…{{/reason}}'}</code> appears only if there is a reason.
          </p>
        </section>
        <Card id="preview" title="As members get it">
          {nameOfPart({ name }) !== null && (
            <p>
              A part, which texts insert by <code>{`{{> ${nameOfPart({ name })}}}`}</code>. See their
              previews.
            </p>
          )}
          {report.previews === null ? (
            <p>First correct the faults of {names.filter(isFaulty).join(', ')}.</p>
          ) : (
            report.previews
              .find((preview) => `${preview.name}${EXTENSION}` === name)
              ?.texts.map((text) => <Previewed key={text.withReason} text={text} />)
          )}
        </Card>
      </div>
    </>
  )
}

/** A text with sample values, for each channel. */
function Previewed({ text: { withReason, subject, body, sms } }: { text: PreviewedText }) {
  const when = withReason === null ? '' : withReason ? ', with a reason' : ', without a reason'
  return (
    <>
      {Object.entries(CHANNEL_KINDS).map(([channel, { name, hasSubject, isSegmented }]) => (
        <section key={channel}>
          <h3>
            {inWords(name)}
            {when}
            {isSegmented && ` – ${describeSms(sms)}`}
          </h3>
          <Message subject={hasSubject ? subject : null} body={body} />
        </section>
      ))}
    </>
  )
}
