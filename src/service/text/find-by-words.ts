import { isSlip, nearestOnes } from './nearest.ts'

const SEPARATORS = /[^\p{L}\p{N}]+/u

/** The names that contain each word of a text, whatever separates the words, or differ from it by a typing error. */
export function findByWords(text: string, names: readonly string[]): readonly string[] {
  const words = text.split(SEPARATORS).map(squash).filter(Boolean)
  const slips = nearestOnes(text.trim(), names).filter((name) => isSlip(text.trim(), name))
  const hasWords = (name: string) => words.length > 0 && words.every((word) => squash(name).includes(word))
  return names.filter((name) => name === text || hasWords(name) || slips.includes(name))
}

/** The letters and digits of a text, in lower case. */
export function squash(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}
