import { z } from 'zod'
import { cellText, FACT_LIST, type FactKey, type KnownValue, type RecordedFacts } from './facts.ts'

/** Schemas of the fact cells in a rule; null means any. */
export const cellSchemas = mapFacts(({ values }) => valueSchema(values).nullable()) as {
  readonly [K in FactKey]: z.ZodType<KnownValue<K> | null>
}

/** Recorded facts, unchecked: another version may know other facts and other values. */
export const recordedFacts = z
  .looseObject({
    eventType: z.string(),
    ...mapFacts(({ values }) => z.unknown().describe(`${values.map(cellText).join(', ')}; null if unknown`)),
  })
  .partial()
  .required({ eventType: true }) as unknown as z.ZodType<RecordedFacts>

function mapFacts(schemaOf: (fact: (typeof FACT_LIST)[number][1]) => z.ZodType) {
  return Object.fromEntries(FACT_LIST.map(([key, fact]) => [key, schemaOf(fact)])) as Record<
    FactKey,
    z.ZodType
  >
}

function valueSchema(values: readonly (string | boolean)[]): z.ZodType {
  return typeof values[0] === 'boolean' ? z.boolean() : z.enum(values as readonly string[])
}
