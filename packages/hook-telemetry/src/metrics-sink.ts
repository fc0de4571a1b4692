/** Label names and values of one series. Frozen, and the same object for the same series, so a sink may cache by identity. @public */
export type Labels = Readonly<Record<string, string>>;

/** Where metrics go. Names are dotted (`nomad.client.…`); a sink maps them to what its system allows. @public */
export interface MetricsSink {
  /** Adds to a counter. */
  incrCounter(name: string, value: number, labels: Labels): void;
  /** Adds one observation in milliseconds. */
  addSample(name: string, ms: number, labels: Labels): void;
  /** Sets a gauge. */
  setGauge?(name: string, value: number, labels: Labels): void;
  /** Forgets every series that carries all of these labels. */
  remove?(labels: Labels): void;
}
