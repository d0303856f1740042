import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  isTemplateFile,
  readTemplateFiles,
  TEMPLATE_FOLDERS,
} from '../../authoring/templates/template-files.ts'
import {
  ENVELOPE_MAP,
  OUTCOMES_FILE,
  PROMISES,
  RULE_TABLE,
  readText,
  TEMPLATES,
  TRAFFIC,
} from '../../service/app/authored-files.ts'
import {
  type EnvelopeMap,
  EnvelopeMapError,
  loadEnvelopeMaps,
  sourceText,
} from '../../service/decide/event/envelope-map.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'
import { checkRevision, listFilesAt, readFileAt } from '../../terminal/git.ts'
import { newCommand } from '../../terminal/options.ts'
import type { World } from '../../terminal/world.ts'
import { reviewEnvelopeMap } from '../check/review-envelope-map.ts'
import { listTrafficTypes } from '../traffic/traffic-sheet.ts'
import { summaryToMarkdown } from './change-summary.ts'
import { type Cells, diffRows, type RowChange } from './diff-rows.ts'
import { type Files, loadVersion, readTexts, summariseChange } from './review.ts'

export const summaryCommand = (world: World) =>
  newCommand('summary', {
    exitCodes: '0 summarised, faults included, 1 the revision cannot be read',
    example: 'rules summary --against main',
  })
    .description('summarise the faults and the effects of changed rules and texts, for a pull request')
    .requiredOption('--against <git revision>', 'what the change is made to')
    .option('--json', 'as one JSON value instead of Markdown')
    .action((options: Options) => summarise(world, options))

interface Options {
  readonly against: string
  readonly json?: true
}

async function summarise(world: World, { against, json }: Options): Promise<void> {
  await checkRevision(against, dirname(RULE_TABLE), 'git revision')
  const outcomes = await readFile(OUTCOMES_FILE, 'utf8').catch(() => '')
  // With the present ones, the old name of a renamed template would be a fault.
  const outcomesThen = await readFileAt(against, OUTCOMES_FILE).catch(() => '')
  const traffic = await readFile(TRAFFIC, 'utf8').catch(() => null)
  const trafficThen = await readFileAt(against, TRAFFIC).catch(() => null)
  const seen = listTrafficTypes(traffic)
  const load = (files: Files, accepted: string, rules: readonly Rule[] = []) =>
    loadVersion(files, readTexts(files.templates, accepted, seen), { rules, trafficTypes: seen })
  const before = await load(await filesAt(against), outcomesThen)
  const after = await load(await filesNow(), outcomes, before.ruleTable?.rules)
  const summary = summariseChange(before, after, outcomes, traffic, trafficThen)
  const [mapBefore, mapNow] = await Promise.all([readFileAt(against, ENVELOPE_MAP), readText(ENVELOPE_MAP)])
  const report = {
    ...summary,
    reviews: summary.reviews.toSpliced(2, 0, await reviewEnvelopeMap()),
    rows: [...diffMaps(mapBefore, mapNow), ...summary.rows],
  }
  world.stdout.write(json ? `${JSON.stringify(report)}\n` : summaryToMarkdown(report))
}

async function filesAt(revision: string): Promise<Files> {
  const listed = TEMPLATE_FOLDERS.map(async (part) =>
    (await listFilesAt(revision, join(TEMPLATES, part)))
      .filter(isTemplateFile)
      .map((name) => join(part, name)),
  )
  const names = (await Promise.all(listed)).flat()
  const [table, promises, ...templates] = await Promise.all([
    readFileAt(revision, RULE_TABLE),
    readFileAt(revision, PROMISES),
    ...names.map(async (name) => ({ name, text: await readFileAt(revision, join(TEMPLATES, name)) })),
  ])
  return { table, promises, templates }
}

async function filesNow(): Promise<Files> {
  const [table, promises] = await Promise.all([readText(RULE_TABLE), readText(PROMISES)])
  return { table, promises, templates: readTemplateFiles(TEMPLATES) }
}

/** Fields that the two envelope maps read from different places; none if a map has faults. */
function diffMaps(before: string, now: string): RowChange[] {
  try {
    return diffRows('envelope field', ['field', 'place'], listFields(before), listFields(now))
  } catch (error) {
    if (error instanceof EnvelopeMapError) return []
    throw error
  }
}

/** Throws EnvelopeMapError. */
function listFields(maps: string): Cells[] {
  const { byDefault, byTopic } = loadEnvelopeMaps(maps)
  const list = ({ value, ...places }: EnvelopeMap, start = '') => [
    ...Object.entries(places).map(([field, place]) => [`${start}${field}`, sourceText(place)]),
    [`${start}value`, value],
  ]
  return [...list(byDefault), ...[...byTopic].flatMap(([topic, map]) => list(map, `${topic}: `))]
}
