// The shapes of objects: their keys, in order (src/tape/shapes.rs).

const { getOwnPropertyNames } = Object

/** A function that builds an object with these keys. */
export interface Builder {
  keys: string[]
  build: () => object
}

export interface Shape {
  keys: string[]
  build: (() => object) | undefined
  /** Whether `Object.prototype` has any of the keys. */
  isInherited: boolean
  /** The shapes with one more key, by that key. It has no prototype. */
  longer: Record<string, Shape>
}

const noShapes = () => ({ __proto__: null }) as unknown as Record<string, Shape>
const emptyShape = (): Shape => ({ keys: [], build: undefined, isInherited: false, longer: noShapes() })

/** The number of shapes at which the collection is cleared, so that files whose keys are all different do not exhaust memory. */
const MAX_SHAPES = 4096

/** The shapes seen so far. They are kept across batches and jobs, because most of these use the same shapes. */
export class Shapes {
  #builders: Builder[]
  #empty: Shape = emptyShape()
  #count = 0
  /** The property names of `Object.prototype` for which the shapes were built. */
  #inherited: string | undefined

  /** `builders` has the keys of the most frequent shapes, each with a function that builds an object of it. */
  constructor(builders: Builder[]) {
    this.#builders = builders
  }

  /**
   * Returns the shapes of a batch by number. Shape 0 has no keys. For each further shape, `news` has two elements: the number of the shape that it
   * extends, and its additional key.
   */
  list(news: (number | string)[]): Shape[] {
    this.#begin()
    const list = [this.#empty]
    for (let index = 0; index < news.length; index += 2)
      list.push(this.#extended(list[news[index] as number]!, news[index + 1] as string))
    return list
  }

  /** Clears the shapes if there are too many, or if the property names of `Object.prototype` have changed since the last batch. */
  #begin(): void {
    const inherited = getOwnPropertyNames(Object.prototype).join(',')
    if (inherited === this.#inherited && this.#count < MAX_SHAPES) return
    this.#inherited = inherited
    this.#count = 0
    this.#empty = emptyShape()
    for (let index = 0; index < this.#builders.length; index++) this.#know(this.#builders[index]!)
  }

  #know({ keys, build }: Builder): void {
    let shape = this.#empty
    for (let index = 0; index < keys.length; index++) shape = this.#extended(shape, keys[index]!)
    shape.build = build
  }

  /** Returns the shape with one more key. */
  #extended({ keys, isInherited, longer }: Shape, key: string): Shape {
    const known = longer[key]
    if (known !== undefined) return known
    this.#count++
    return (longer[key] = {
      keys: withLast(keys, key),
      build: undefined,
      isInherited: isInherited || key in Object.prototype,
      longer: noShapes(),
    })
  }
}

function withLast(keys: string[], key: string): string[] {
  const all: string[] = []
  for (let index = 0; index < keys.length; index++) all.push(keys[index]!)
  all.push(key)
  return all
}
