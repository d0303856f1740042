import { CorrectableError } from '../text/correctable-error.ts'
import { listFaults } from '../text/faults.ts'

/** What is wrong with one file. `line` counts from 1; null where it is the file itself that is missing or surplus. */
export interface TemplateFault {
  readonly file: string
  readonly line: number | null
  readonly text: string
}

/** Templates that cannot be compiled. Carries the first fault of each file. */
export class TemplateError extends CorrectableError {
  readonly faults: readonly TemplateFault[]

  constructor(faults: readonly TemplateFault[]) {
    super(`the templates have ${listFaults(faults.map(describeTemplateFault))}`)
    this.name = 'TemplateError'
    this.faults = faults
  }
}

/** Such as `claim.paid.mustache:3: …`. */
export function describeTemplateFault({ file, line, text }: TemplateFault): string {
  return `${line === null ? file : `${file}:${line}`}: ${text}`
}
