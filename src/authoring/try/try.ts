import { buffer } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { templates as shipped } from '#generated/templates.ts'
import { readTemplateFiles } from '../../authoring/templates/template-files.ts'
import { noteUnknownEventType } from '../../operations/log/known-names.ts'
import { ENVELOPE_MAP, RULE_TABLE, readBytes, readText } from '../../service/app/authored-files.ts'
import { createParties } from '../../service/app/clients.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { loadLookUp } from '../../service/config/config.ts'
import { type DecisionSubject, readFacts } from '../../service/decide/decision/decide.ts'
import { FACT_LIST } from '../../service/decide/decision/facts.ts'
import { loadEnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { Message } from '../../service/decide/event/message.ts'
import { parseEvent } from '../../service/decide/event/parse-event.ts'
import { INVALID_LOCATOR, type StatedFacts } from '../../service/decide/event/stated-facts.ts'
import type { Preferences } from '../../service/decide/party/preferences.ts'
import type { Templates } from '../../service/decide/templates/template.ts'
import { readPreferences } from '../../service/store/read/read-preferences.ts'
import { createLog } from '../../service/telemetry/log.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import { didYouMean, nearest } from '../../service/text/nearest.ts'
import { fileOption, newCommand, partyOption, UsageError } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { readTemplates } from '../templates/read-templates.ts'
import { describeTried, eventOfTrial, type Trial, type TriedEvent, tryEvent } from './try-event.ts'

/** The option for each fact: a flag for an unusual value, or one of the values. */
const FACT_OPTIONS = FACT_LIST.map(([key, { option, usual, values }]) => {
  const one = new Option(...option)
  return {
    key,
    usual,
    option: typeof usual === 'boolean' ? one : one.choices(values as string[]).default(usual),
  }
})

export function tryCommand(world: World): Command {
  const command = newCommand('try', {
    notes: `--party needs DATABASE_URL and POLICY_ADMIN_URL; addresses are shown only as on file or not.`,
    exitCodes: '0 decided, 1 a file, the message or a setting has faults, or the database cannot be read',
    example: [
      'rules try --event-type claim.paid --prefers SMS --no-phone',
      'rules try --event-type claim.paid --party PTY-1',
      'rules try --event event.json --table candidate.csv',
    ],
  })
    .description('show what a party would be told about an event, and why; send and write nothing')
    .option('--event-type <type>', 'the type of the event')
    .option('--locator <text>', 'what the event is about', 'CLM-2026-00056')
    .option('--reason <text>', 'the reason that the event gives')
    .option(
      '--event <file>',
      'take event type, locator, reason and party from the value of a message; - reads it from standard input',
    )
    .option('--header <name=value>', 'a header of that message; may be repeated', addHeader)
    .option('--topic <name>', 'its topic, whose envelope map reads it; without it, the default map does')
    .addOption(
      partyOption('a real party: its stored preferences, and its contact by one look-up').conflicts(
        FACT_OPTIONS.map(({ option }) => option.attributeName()),
      ),
    )
  for (const { option } of FACT_OPTIONS) command.addOption(option)
  return command
    .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
    .option('--templates <folder>', 'the templates (default: those built into this version)')
    .option('--json', 'as one JSON object')
    .action((options: Options) => tryIt(world, options))
}

type Headers = Message['headers']

interface Options extends Readonly<Record<string, unknown>> {
  readonly eventType?: string
  readonly locator: string
  readonly reason?: string
  readonly event?: string
  readonly header?: Headers
  readonly topic?: string
  readonly party?: string
  readonly table: string
  readonly templates?: string
  readonly json?: true
}

async function tryIt(world: World, options: Options): Promise<void> {
  const table = await compileRuleTable(await readText(options.table), { name: options.table })
  const templates = loadTemplates(options.templates)
  const tried = tryEvent(table, templates, await parseTriedEvent(world, options))
  await print(world, ...(options.json ? [JSON.stringify(tried)] : describeTried(tried)))
}

function loadTemplates(folder: string | undefined): Templates {
  return folder === undefined ? shipped : readTemplates(readTemplateFiles(folder), { sha256 })
}

async function parseTriedEvent(world: World, options: Options): Promise<TriedEvent> {
  const { variables, partyLocator, stated } = await parseTriedVariables(world, options)
  const { eventType } = variables
  if (options.party !== undefined) {
    const { [INVALID_LOCATOR]: _, ...facts } = stated
    const subject = { eventType, partyLocator: options.party, stated: facts }
    return { event: variables, ...(await lookUpParty(world, subject)) }
  }
  const values = FACT_OPTIONS.map(({ key, usual, option }) => [key, options[option.attributeName()] ?? usual])
  const trial = { ...variables, ...Object.fromEntries(values) } as Trial
  const party = partyLocator === null ? 'missing' : trial.party
  const tried = eventOfTrial({ ...trial, party })
  return { ...tried, facts: { ...tried.facts, ...stated } }
}

async function parseTriedVariables(
  world: World,
  { event: file, header: headers = {}, topic, eventType, locator, reason }: Options,
) {
  if (file === undefined) {
    if (eventType === undefined)
      throw new UsageError('name an event type by --event-type, or an event by --event')
    noteUnknownEventType(world, eventType)
    const variables = { eventType, locator, reason: reason ?? null }
    const stated: StatedFacts = {}
    return { variables, partyLocator: 'party', stated }
  }
  const value = file === '-' ? await buffer(world.stdin) : await readBytes(file)
  const message = { offset: 0n, key: null, value, headers }
  const maps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  if (topic !== undefined && !maps.byTopic.has(topic)) {
    const near = didYouMean(nearest(topic, [...maps.byTopic.keys()]))
    note(
      world,
      `rules/envelope.json has no map for the topic "${topic}": the default map reads this message${near}`,
    )
  }
  const parsed = parseEvent(message, topic === undefined ? maps.byDefault : mapOf(maps, topic))
  if (parsed.kind === 'rejection')
    throw new CorrectableError(
      `this message is not a valid event and would be rejected: ${parsed.rejection.error}`,
    )
  if (parsed.kind === 'tombstone') throw new CorrectableError('this message has no value')
  const { event } = parsed
  return {
    ...event,
    variables: { eventType: event.eventType, locator: event.reference, reason: event.reason },
  }
}

/**
 * Reads the stored preferences of a real party, and looks up its contact, which is unresolved without an answer. Throws
 * CorrectableError.
 */
async function lookUpParty(
  world: World,
  subject: DecisionSubject & { readonly partyLocator: string },
): Promise<Pick<TriedEvent, 'facts' | 'contact'>> {
  const { policyAdministration } = loadLookUp(world.env)
  const { partyLocator } = subject
  let preferences: Preferences | undefined
  await withDatabase(world, async (pool) => {
    preferences = (await readPreferences(pool, [partyLocator])).get(partyLocator)
  })
  const parties = createParties({ policyAdministration }, createLog('error', world.stderr))
  try {
    const contact = (await parties.lookUp([partyLocator])).get(partyLocator)
    return { facts: readFacts(subject, contact, preferences), contact }
  } finally {
    await parties.close()
  }
}

function addHeader(text: string, previous: Headers = {}): Headers {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write it as name=value.')
  return { ...previous, [name]: [...(previous[name] ?? []), Buffer.from(value)] }
}
