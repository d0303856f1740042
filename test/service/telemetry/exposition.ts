// @ts-expect-error: it has no types
import parsePrometheusTextFormat from 'parse-prometheus-text-format'

interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly metrics: readonly {
    readonly value?: string
    readonly labels?: Readonly<Record<string, string>>
  }[]
}

export interface Exposition {
  readonly families: ReadonlyMap<string, Family>
  /** The value of the series with exactly these labels; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
  /** The number of observations of a histogram; `labels` as in the text. */
  observed(name: string, labels?: string): number | undefined
  /** Names as queries know them: of a histogram `_bucket`, `_sum` and `_count`. */
  readonly names: ReadonlySet<string>
}

/** Reads Prometheus's text format, by a parser that is not ours. Throws where a line is none. */
export function readExposition(text: string): Exposition {
  const families = new Map(
    (parsePrometheusTextFormat(text) as Family[]).map((family) => [family.name, family]),
  )
  const names = [...families.values()].flatMap(({ name, type }) =>
    type === 'HISTOGRAM' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  )
  return {
    families,
    names: new Set(names),
    value: (name, labels = {}) => {
      const found = families.get(name)?.metrics.find((metric) => same(metric.labels ?? {}, labels))
      return found === undefined ? undefined : Number(found.value)
    },
    // The parser drops the labels of histograms.
    observed: (name, labels = '') => {
      const prefix = `${name}_count${labels} `
      const line = text.split('\n').find((candidate) => candidate.startsWith(prefix))
      return line === undefined ? undefined : Number(line.slice(prefix.length))
    },
  }
}

function same(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}
