import { InvalidArgumentError } from 'commander'

/** Of an option that narrows a choice: a blank one, such as a shell variable that is not set, must not choose all. */
export function notBlank(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('it must not be blank.')
  return text
}
