! SPDX-License-Identifier: BSD-3-Clause
! examples/ring.c in Fortran (iso_c_binding): a message travels round a ring of nodes, and each node
! that it passes writes a line into its own segment.
module gasnet
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int), parameter :: anonymous = 1        ! GASNET_BARRIERFLAG_ANONYMOUS
    integer(c_size_t), parameter :: page = 4096       ! GASNET_PAGESIZE

    type, bind(c) :: handler_t
        integer(c_int8_t) :: index
        type(c_funptr) :: function
    end type

    type, bind(c) :: segment_t
        type(c_ptr) :: addr
        integer(c_size_t) :: size
    end type

    interface
        integer(c_int) function gasnet_init(argc, argv) bind(c)
            import
            type(c_ptr), value :: argc, argv
        end function
        integer(c_int) function gasnet_attach(table, entries, bytes, offset) bind(c)
            import
            type(handler_t), intent(inout) :: table(*)
            integer(c_int), value :: entries
            integer(c_size_t), value :: bytes, offset
        end function
        integer(c_int32_t) function gasnet_mynode() bind(c)
            import
        end function
        integer(c_int32_t) function gasnet_nodes() bind(c)
            import
        end function
        integer(c_int) function gasnet_getSegmentInfo(table, entries) bind(c, name="gasnet_getSegmentInfo")
            import
            type(segment_t), intent(out) :: table(*)
            integer(c_int), value :: entries
        end function
        integer(c_int) function gasnet_AMRequestShort2(dest, handler, a0, a1) &
            bind(c, name="gasnet_AMRequestShort2")
            import
            integer(c_int32_t), value :: dest, a0, a1
            integer(c_int8_t), value :: handler
        end function
        integer(c_int) function gasnet_AMPoll() bind(c, name="gasnet_AMPoll")
            import
        end function
        subroutine gasnet_get_bulk(dest, node, src, bytes) bind(c)
            import
            type(c_ptr), value :: dest, src
            integer(c_int32_t), value :: node
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine gasnet_barrier_notify(id, flags) bind(c)
            import
            integer(c_int), value :: id, flags
        end subroutine
        integer(c_int) function gasnet_barrier_wait(id, flags) bind(c)
            import
            integer(c_int), value :: id, flags
        end function
        subroutine gasnet_exit(code) bind(c)
            import
            integer(c_int), value :: code
        end subroutine
    end interface
end module

module ring
    use gasnet
    implicit none

    integer(c_int32_t), parameter :: rounds = 100

    type, bind(c) :: line_t
        integer(c_int32_t) :: hop ! nodes that the message had passed, this one included
        integer(c_int32_t) :: sum ! of their numbers
    end type

    type(line_t), volatile :: message = line_t(0, 0) ! as it came by here
    logical, volatile :: waiting = .false.

contains

    ! Handlers may not send requests: the main program sends the message on.
    subroutine on_message(token, hop, sum) bind(c)
        type(c_ptr), value :: token
        integer(c_int32_t), value :: hop, sum
        message = line_t(hop, sum)
        waiting = .true.
    end subroutine

    subroutine barrier()
        integer(c_int) :: status
        call gasnet_barrier_notify(0, anonymous)
        status = gasnet_barrier_wait(0, anonymous)
    end subroutine

    subroutine wait_for_message()
        integer(c_int) :: status
        do while (.not. waiting)
            status = gasnet_AMPoll()
        end do
        waiting = .false.
    end subroutine

    integer function wrong_lines(node, nodes, segment)
        integer(c_int32_t), intent(in) :: node, nodes
        type(segment_t), intent(in) :: segment
        type(line_t), target :: lines(0:rounds - 1)
        integer(c_int32_t) :: i, turn
        call gasnet_get_bulk(c_loc(lines), node, segment%addr, c_sizeof(lines))
        turn = nodes*(nodes - 1)/2
        wrong_lines = 0
        do i = 0, rounds - 1
            if (lines(i)%hop /= i*nodes + node + 1 .or. lines(i)%sum /= i*turn + node*(node + 1)/2) &
                wrong_lines = wrong_lines + 1
        end do
    end function

end module

program main
    use, intrinsic :: iso_fortran_env, only: output_unit
    use ring
    implicit none

    type(handler_t) :: handlers(1)
    type(segment_t), allocatable :: segments(:)
    type(line_t), pointer :: lines(:)
    integer(c_int32_t) :: me, nodes, n, passed
    integer :: wrong, status

    handlers(1) = handler_t(0, c_funloc(on_message))
    if (gasnet_init(c_null_ptr, c_null_ptr) /= 0) stop 1
    if (gasnet_attach(handlers, 1, page, 0_c_size_t) /= 0) stop 1
    me = gasnet_mynode()
    nodes = gasnet_nodes()
    allocate (segments(0:nodes - 1))
    status = gasnet_getSegmentInfo(segments, nodes)
    call c_f_pointer(segments(me)%addr, lines, [rounds])

    waiting = me == 0 ! where it begins
    do passed = 1, rounds
        call wait_for_message()
        lines(passed) = line_t(message%hop + 1, message%sum + me)
        if (lines(passed)%hop < rounds*nodes) &
            status = gasnet_AMRequestShort2(mod(me + 1, nodes), handlers(1)%index, lines(passed)%hop, &
                                            lines(passed)%sum)
    end do
    call barrier()
    wrong = 0
    if (me == 0) then
        do n = 0, nodes - 1
            wrong = wrong + wrong_lines(n, nodes, segments(n))
        end do
        write (output_unit, '(i0, a, i0, a)') nodes, ' nodes, ', rounds, ' times round: '// &
            trim(merge('all sums are right', 'wrong             ', wrong == 0))
        flush (output_unit)
    end if
    call barrier()
    call gasnet_exit(merge(0, 1, wrong == 0))
end program
