/** Largest job file or job in JSON, in bytes. */
export const MAX_JOB_BYTES = 4 * 1024 * 1024;
/** Most characters of a job in JSON, times its instances: each instance keeps the job it was made for. */
export const MAX_JOB_WEIGHT = 128 * 1024 * 1024;
/** Deepest nesting of a job, driver config included. Stock Nomad's own examples go to 200 lists in one value. */
export const MAX_JOB_DEPTH = 300;
/** Most values in a job. */
export const MAX_JOB_NODES = 200_000;
/** Evaluation steps of one expression of a job file. */
export const MAX_EXPRESSION_STEPS = 200_000;
/** Evaluation steps of a whole job file. */
export const MAX_FILE_STEPS = 5_000_000;
/** Most blocks of a job file after its dynamic blocks are expanded. */
export const MAX_BLOCKS = 5_000;
/** Largest file that a file function or -var-file reads, in bytes. */
export const MAX_READ_BYTES = 1024 * 1024;
/** Evaluation steps of one argument of a dynamic block. */
export const MAX_DYNAMIC_STEPS = 20_000;
